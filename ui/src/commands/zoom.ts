import { useEffect } from "react";
import { useDesk } from "../desk/DeskContext";
import { useCommand } from "./CommandContext";
import { nextZoom, readSetting, useSetting } from "./settings";

/** Draws the page in the size that was chosen, also after a restart. */
export const useZoom = (): void => {
  const desk = useDesk();
  const [zoom, setZoom] = useSetting("zoom");
  useEffect(() => {
    // The page stays as large as it is: nothing that could be decided depends on it.
    desk.zoom(Number(zoom) / 100).catch(() => {});
  }, [desk, zoom]);
  useCommand("zoomIn", () => {
    setZoom(nextZoom(readSetting("zoom"), 1));
  });
  useCommand("zoomOut", () => {
    setZoom(nextZoom(readSetting("zoom"), -1));
  });
  useCommand("zoomReset", () => {
    setZoom("100");
  });
};
