import { cleanup, configure } from "@testing-library/react";
import { afterEach, beforeEach, vi } from "vitest";

// A busy machine takes its time; what never comes still fails.
configure({ asyncUtilTimeout: 4_000 });

/** The test document has no layout: what is observed counts as on screen when a test says so. */
export const screenObserver = { seesEverything: true };

class TestObserver implements IntersectionObserver {
  readonly root = null;
  readonly rootMargin = "";
  readonly scrollMargin = "";
  readonly thresholds = [1];
  readonly #callback: IntersectionObserverCallback;

  constructor(callback: IntersectionObserverCallback) {
    this.#callback = callback;
  }

  observe(target: Element): void {
    if (!screenObserver.seesEverything) return;
    queueMicrotask(() => { this.#callback([{ isIntersecting: true, target } as IntersectionObserverEntry], this); });
  }

  unobserve(): void {}
  disconnect(): void {}
  takeRecords(): IntersectionObserverEntry[] {
    return [];
  }
}

beforeEach(() => {
  screenObserver.seesEverything = true;
  localStorage.clear();
  window.location.hash = "";
  vi.stubGlobal("IntersectionObserver", TestObserver);
  vi.spyOn(document, "hasFocus").mockReturnValue(true);
  // The virtual list needs a height.
  vi.spyOn(HTMLElement.prototype, "clientHeight", "get").mockReturnValue(600);
  vi.spyOn(HTMLElement.prototype, "clientWidth", "get").mockReturnValue(372);
});

afterEach(() => {
  cleanup();
  vi.unstubAllGlobals();
});
