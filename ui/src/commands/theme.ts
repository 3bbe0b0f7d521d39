import { useEffect, useSyncExternalStore } from "react";
import { useSetting } from "./settings";

/** Puts the chosen theme on the document; `system` follows the desktop. */
export const useTheme = (): void => {
  const [theme] = useSetting("theme");
  useEffect(() => {
    const light = window.matchMedia("(prefers-color-scheme: light)");
    const put = (): void => {
      const wanted = theme === "system" ? (light.matches ? "light" : "dark") : theme;
      document.documentElement.dataset["theme"] = wanted;
    };
    put();
    light.addEventListener("change", put);
    return () => {
      light.removeEventListener("change", put);
    };
  }, [theme]);
};

const watchTheme = (listener: () => void): (() => void) => {
  const watch = new MutationObserver(listener);
  watch.observe(document.documentElement, { attributeFilter: ["data-theme"] });
  return () => {
    watch.disconnect();
  };
};

/** The theme that is on the document, for what draws with colours of its own; it may change with the desktop's. */
export const useShownTheme = (): string =>
  useSyncExternalStore(watchTheme, () => document.documentElement.dataset["theme"] ?? "dark");
