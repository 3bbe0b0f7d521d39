import { useQuery } from "@tanstack/react-query";
import { useDesk } from "../desk/DeskContext";

/** The words of a command for this console: the program may be on no path, and its folder not the usual one. */
const NAME = /^countersign (?=[a-z])/u;

/** A sentence of the console's own words with commands in back quotes, drawn once it is known how they begin here. */
export const CommandText = ({ text }: { readonly text: string }) => {
  const desk = useDesk();
  const { data, isError } = useQuery({
    queryKey: ["connect_hint"],
    queryFn: () => desk.call("connect_hint", {}),
    enabled: text.includes("`countersign "),
  });
  return (
    <>
      {text.split("`").map((part, place) =>
        place % 2 === 0 ? (
          part
        ) : (
          // The parts of a sentence never move.
          // oxlint-disable-next-line react/no-array-index-key
          <code key={place} className="rounded bg-raised px-1 font-mono text-xs">
            {!NAME.test(part) || isError ? part : data === undefined ? "…" : part.replace(NAME, `${data.program} `)}
          </code>
        ),
      )}
    </>
  );
};
