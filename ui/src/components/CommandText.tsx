/** A sentence of the console's own words with commands in back quotes. */
export const CommandText = ({ text }: { readonly text: string }) => (
  <>
    {text.split("`").map((part, place) =>
      place % 2 === 0 ? (
        part
      ) : (
        // The parts of a sentence never move.
        // oxlint-disable-next-line react/no-array-index-key
        <code key={place} className="rounded bg-raised px-1 font-mono text-xs">
          {part}
        </code>
      ),
    )}
  </>
);
