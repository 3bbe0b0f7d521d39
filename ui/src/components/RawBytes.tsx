import { useState } from "react";
import type { RawChunk } from "../ipc/generated";
import { ShownText } from "./ShownText";

/** Bytes as escaped text or in hexadecimal. */
export const RawBytes = ({ chunks }: { readonly chunks: readonly RawChunk[] }) => {
  const [hex, setHex] = useState(false);
  const total = chunks[0]?.total ?? 0;
  return (
    <>
      <div className="mb-2 flex items-center gap-3 text-xs text-text-3">
        <span>{total.toLocaleString("en")} bytes</span>
        <label className="flex items-center gap-1.5">
          <input
            type="checkbox"
            checked={hex}
            onChange={(event) => {
              setHex(event.target.checked);
            }}
          />{" "}
          hexadecimal
        </label>
      </div>
      <div
        className={`selectable overflow-auto rounded-lg border border-line bg-panel px-3 py-2 font-mono text-xs/[1.6]
          whitespace-pre-wrap`}
        data-testid="raw-bytes"
      >
        {chunks.map((chunk) =>
          hex ? (
            <pre key={chunk.offset} className="m-0">
              {chunk.hex}
            </pre>
          ) : (
            <ShownText key={chunk.offset} text={chunk.text} block />
          ),
        )}
      </div>
    </>
  );
};
