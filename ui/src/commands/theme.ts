import { useEffect } from "react";
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
    return () => { light.removeEventListener("change", put); };
  }, [theme]);
};
