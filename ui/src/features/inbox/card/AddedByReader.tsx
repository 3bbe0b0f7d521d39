import { Section } from "../../../components/Section";
import { ShownText } from "../../../components/ShownText";
import type { Card } from "../../../ipc/generated";

/** What a second reader added, apart from the console's own findings: a machine's words, in quotes. */
export const AddedByReader = ({ marks }: { readonly marks: Card["reader"] }) =>
  marks.length === 0 ? null : (
    <Section title="Added by the reader, a machine">
      <ul className="selectable m-0 list-none p-0" data-testid="added-by-reader">
        {marks.map((mark, index) => (
          // Marks keep their order.
          // oxlint-disable-next-line react/no-array-index-key
          <li key={index} className="row-line py-1.5 text-[12.5px] text-text-2 last:border-0">
            <span className="mr-2 font-mono text-text-3">
              <ShownText text={mark.at} />
            </span>
            “<ShownText text={mark.message} />”
            {mark.edited ? <span className="ml-2 text-text-3">This value was edited since.</span> : null}
          </li>
        ))}
      </ul>
    </Section>
  );
