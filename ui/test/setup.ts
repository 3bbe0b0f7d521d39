import { cleanup, configure } from "@testing-library/react";
import { lateFailures } from "../src/components/lateFailures";
import { forgetUnsaved } from "../src/desk/unsaved";
import { afterEach, beforeEach, vi } from "vitest";

// A busy machine takes its time; what never comes still fails.
configure({ asyncUtilTimeout: 4_000 });

/** The test document has no layout: what is observed counts as on screen unless a test says otherwise. */
export const screenObserver = {
  /** A selector of what is off the screen. */
  unseen: null as string | null,
  /** A selector of what has no width. */
  narrow: null as string | null,
  /** Puts what is off the screen on it, and what now fits the selector off it. */
  becomes(unseen: string | null): void {
    screenObserver.unseen = unseen;
    for (const observer of TestObserver.all) observer.look();
  },
};

class TestObserver implements IntersectionObserver {
  readonly root = null;
  readonly rootMargin = "";
  readonly scrollMargin = "";
  readonly thresholds = [1];
  static readonly all = new Set<TestObserver>();
  readonly #callback: IntersectionObserverCallback;
  readonly #targets = new Set<Element>();

  constructor(callback: IntersectionObserverCallback) {
    this.#callback = callback;
    TestObserver.all.add(this);
  }

  look(): void {
    const entries = [...this.#targets].map((target) => {
      const seen = screenObserver.unseen === null || !target.matches(screenObserver.unseen);
      return { isIntersecting: seen, intersectionRatio: seen ? 1 : 0, target } as unknown as IntersectionObserverEntry;
    });
    if (entries.length > 0) this.#callback(entries, this);
  }

  observe(target: Element): void {
    this.#targets.add(target);
    queueMicrotask(() => {
      this.look();
    });
  }

  unobserve(target: Element): void {
    this.#targets.delete(target);
  }

  disconnect(): void {
    this.#targets.clear();
    TestObserver.all.delete(this);
  }
  takeRecords(): IntersectionObserverEntry[] {
    return [];
  }
}

class TestResizeObserver implements ResizeObserver {
  readonly #callback: ResizeObserverCallback;

  constructor(callback: ResizeObserverCallback) {
    this.#callback = callback;
  }

  observe(target: Element): void {
    queueMicrotask(() => {
      const width = screenObserver.narrow !== null && target.matches(screenObserver.narrow) ? 0 : 400;
      this.#callback([{ target, contentRect: new DOMRect(0, 0, width, 20) } as unknown as ResizeObserverEntry], this);
    });
  }

  unobserve(): void {}
  disconnect(): void {}
}

beforeEach(() => {
  screenObserver.unseen = null;
  screenObserver.narrow = null;
  localStorage.clear();
  window.location.hash = "";
  vi.stubGlobal("IntersectionObserver", TestObserver);
  vi.stubGlobal("ResizeObserver", TestResizeObserver);
  vi.spyOn(document, "hasFocus").mockReturnValue(true);
  // The virtual list needs a height.
  vi.spyOn(HTMLElement.prototype, "clientHeight", "get").mockReturnValue(600);
  vi.spyOn(HTMLElement.prototype, "clientWidth", "get").mockReturnValue(372);
});

afterEach(() => {
  cleanup();
  forgetUnsaved();
  lateFailures.set([]);
  vi.unstubAllGlobals();
});
