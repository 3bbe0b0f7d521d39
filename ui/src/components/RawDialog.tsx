import { useEffect, useState } from "react";
import { useDesk } from "../desk/DeskContext";
import type { RawChunk } from "../ipc/generated";
import { toCallError } from "../ipc/transport";
import { Overlay } from "./Overlay";
import { RawBytes } from "./RawBytes";

interface RawDialogProps {
  readonly command: "raw" | "rejected_raw" | "span_raw";
  readonly requestKey: string;
  readonly onClose: () => void;
}

/** The bytes as received, part by part, escaped. */
export const RawDialog = ({ command, requestKey, onClose }: RawDialogProps) => {
  const desk = useDesk();
  const [chunks, setChunks] = useState<readonly RawChunk[]>([]);
  const [trouble, setTrouble] = useState<string | null>(null);
  const read = (offset: number): void => {
    desk.call(command, { key: requestKey, offset }).then(
      (chunk) => {
        setChunks((before) => (before.some((other) => other.offset === chunk.offset) ? before : [...before, chunk]));
      },
      (thrown: unknown) => {
        setTrouble(toCallError(thrown).message);
      },
    );
  };
  useEffect(() => {
    read(0);
    // oxlint-disable-next-line react/exhaustive-deps -- once per opened dialog
  }, [requestKey]);
  const next = chunks.at(-1)?.next ?? null;
  return (
    <Overlay title="Bytes as received" wide onClose={onClose}>
      {trouble === null ? null : (
        <p role="alert" className="text-bad">
          {trouble}
        </p>
      )}
      <RawBytes chunks={chunks} />
      {next === null ? null : (
        <button
          type="button"
          className="mt-3 rounded border border-line px-2 py-1 text-xs text-text-2"
          onClick={() => {
            read(next);
          }}
        >
          Show more
        </button>
      )}
    </Overlay>
  );
};
