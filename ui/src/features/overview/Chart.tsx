import { useEffect, useRef } from "react";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { formatDay, formatTime, midnight } from "../../desk/clock";
import { useToday } from "../../desk/DeskContext";
import type { VolumePiece } from "../../ipc/generated";

interface ChartProps {
  readonly volume: readonly VolumePiece[];
  /** Changes with the theme: the canvas is drawn anew. */
  readonly theme: string;
}

/**
 * The lines of the chart, by the names of the colours in the style sheet and their dashes: no line differs by its
 * hue alone.
 */
export const SERIES = [
  ["arrived", "Arrived", "--text-3", [1, 3]],
  ["allowed", "Approved", "--ok", []],
  ["denied", "Denied", "--bad", [9, 4]],
  ["expired", "Expired", "--warn", [4, 4]],
] as const satisfies readonly (readonly [keyof VolumePiece, string, string, readonly number[]])[];

const HEIGHT_PX = 220;
const DAY_MS = 86_400_000;
const HH_MM = 5;
/** Room for the numbers of an axis: of each sign, and of ticks and gaps. */
const DIGIT_PX = 7;
const AXIS_PX = 20;
/** Steps of an axis that counts requests. */
const WHOLE = Array.from({ length: 10 }, (_, power) => [1, 2, 5].map((step) => step * 10 ** power)).flat();

/** Times of an axis as the rest of the desk prints them: 24 hours, and the day where one begins. */
const timesOf = (seconds: readonly number[], longMs: number, nowMs: number): string[] =>
  seconds.map((second, place) => {
    const ms = second * 1_000;
    const day = formatDay(ms, nowMs);
    if (longMs > 3 * DAY_MS) return day;
    const before = seconds[place - 1];
    const time = formatTime(ms).slice(0, HH_MM);
    return before === undefined || midnight(before * 1_000) === midnight(ms) ? time : `${day}, ${time}`;
  });

/** Requests over time. The table beside it has the same numbers. */
export const Chart = ({ volume, theme }: ChartProps) => {
  const place = useRef<HTMLDivElement>(null);
  const today = useToday();
  useEffect(() => {
    const box = place.current;
    if (box === null) return undefined;
    const style = getComputedStyle(document.documentElement);
    const colour = (name: string): string => style.getPropertyValue(name).trim();
    const longMs = (volume.at(-1)?.startMs ?? 0) - (volume[0]?.startMs ?? 0);
    const axis = {
      stroke: colour("--text-3"),
      grid: { stroke: colour("--line-soft"), width: 1 },
      ticks: { stroke: colour("--line"), width: 1 },
      font: "11px Inter, sans-serif",
    };
    const options: uPlot.Options = {
      width: Math.max(box.clientWidth, 1),
      height: HEIGHT_PX,
      legend: { show: false },
      cursor: { show: false },
      padding: [8, 24, 0, 0],
      scales: { y: { range: (_, __, max) => [0, Math.max(max, 4)] } },
      axes: [
        { ...axis, space: 76, values: (_, splits) => timesOf(splits, longMs, today) },
        {
          ...axis,
          size: (_, values) => DIGIT_PX * Math.max(3, ...(values ?? []).map((text) => text.length)) + AXIS_PX,
          incrs: WHOLE,
        },
      ],
      series: [
        {},
        ...SERIES.map(([name, label, token, dash]) => ({
          label,
          stroke: colour(token),
          width: name === "arrived" ? 1 : 1.75,
          points: { show: volume.length < 3 },
          dash: [...dash],
        })),
      ],
    };
    const times = volume.map((piece) => piece.startMs / 1_000);
    const plot = new uPlot(options, [times, ...SERIES.map(([name]) => volume.map((piece) => piece[name]))], box);
    const sized = new ResizeObserver(() => {
      plot.setSize({ width: Math.max(box.clientWidth, 1), height: HEIGHT_PX });
    });
    sized.observe(box);
    return () => {
      sized.disconnect();
      plot.destroy();
    };
  }, [volume, theme, today]);
  return (
    <div
      ref={place}
      className="min-w-0"
      role="img"
      aria-label="Requests over time; the table of the same name has the numbers"
      data-testid="chart"
    />
  );
};
