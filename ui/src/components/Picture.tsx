import { useEffect, useRef, useState } from "react";
import type { PartView } from "../ipc/generated";

type PictureProps = Omit<Extract<PartView, { type: "image" }>, "type"> & {
  /** Where it comes from, for the line below it. */
  readonly from: string;
};

const bytesOf = (data: string): Uint8Array<ArrayBuffer> => {
  const text = atob(data);
  const bytes = new Uint8Array(text.length);
  for (let at = 0; at < text.length; at += 1) bytes[at] = text.codePointAt(at) ?? 0;
  return bytes;
};

const WIDEST = 720;

/** Pixels that came over the bus, drawn on a canvas: no address, so that nothing can be fetched. */
export const Picture = ({ mime, data, width, height, from }: PictureProps) => {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [failed, setFailed] = useState(false);
  const scale = Math.min(1, WIDEST / width);
  const drawn = { width: Math.max(Math.round(width * scale), 1), height: Math.max(Math.round(height * scale), 1) };
  useEffect(() => {
    let open = true;
    const draw = async (): Promise<void> => {
      const image = await createImageBitmap(new Blob([bytesOf(data)], { type: mime }));
      if (open) canvas.current?.getContext("2d")?.drawImage(image, 0, 0, drawn.width, drawn.height);
      image.close();
    };
    draw().catch(() => {
      if (open) setFailed(true);
    });
    return () => {
      open = false;
    };
  }, [data, mime, drawn.width, drawn.height]);
  if (failed)
    return (
      <p className="m-0 text-warn-text" data-part="wrong">
        {mime}, {width} × {height}, not drawn: it cannot be decoded
      </p>
    );
  return (
    <figure className="m-0" data-part="image">
      <canvas
        ref={canvas}
        width={drawn.width}
        height={drawn.height}
        className="max-w-full rounded-lg border border-line bg-panel"
        role="img"
        aria-label={`Image, ${width} by ${height}`}
      />
      <figcaption className="mt-1 text-xs text-text-3">
        {mime}, {width} × {height}, {from}
      </figcaption>
    </figure>
  );
};
