/** The web view's own menu. */
import { useEffect } from "react";
import { takesText } from "./text";

/**
 * Leaves it to what is typed and what is selected: elsewhere it would offer to load the page again, and what was typed
 * would be gone.
 */
export const useOwnMenu = (): void => {
  useEffect(() => {
    const onMenu = (event: MouseEvent): void => {
      if (!takesText(event.target) && document.getSelection()?.isCollapsed !== false) event.preventDefault();
    };
    window.addEventListener("contextmenu", onMenu);
    return () => {
      window.removeEventListener("contextmenu", onMenu);
    };
  }, []);
};
