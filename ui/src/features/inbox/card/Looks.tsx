import { Picture } from "../../../components/Picture";
import { Section } from "../../../components/Section";
import { ShownText } from "../../../components/ShownText";
import type { ArgLook, CommandPart } from "../../../ipc/generated";
import { DiffView } from "../edit/DiffView";

const INDENT_PX = 18;

const Command = ({ parts }: { readonly parts: readonly CommandPart[] }) => (
  <ol
    className={`selectable m-0 list-none overflow-auto rounded-lg border border-line bg-panel px-3 py-1.5 font-mono
      text-[12.5px]/[1.7]`}
    data-testid="command-parts"
  >
    {parts.map((part, index) => (
      // Parts keep their order.
      <li
        // oxlint-disable-next-line react/no-array-index-key
        key={index}
        className="flex items-baseline gap-2.5"
        style={{ paddingLeft: part.depth * INDENT_PX }}
        data-depth={part.depth}
      >
        <span className="w-6 shrink-0 text-right text-text-3">
          <ShownText text={part.joint} />
        </span>
        <span className="min-w-0 break-all text-text-2">
          {part.depth > 0 ? <span className="sr-only">inside it: </span> : null}
          <b className="font-semibold text-text">
            <ShownText text={part.program} />
          </b>
          {part.program.length > 0 && part.rest.length > 0 ? " " : ""}
          <ShownText text={part.rest} />
        </span>
      </li>
    ))}
  </ol>
);

const Look = ({ look }: { readonly look: ArgLook }) => {
  switch (look.type) {
    case "change":
      return (
        <Section
          title={
            <>
              As a change
              {look.path === null ? (
                ""
              ) : (
                <>
                  {" "}
                  to{" "}
                  <code className="font-mono">
                    <ShownText text={look.path} />
                  </code>
                </>
              )}
            </>
          }
        >
          <DiffView lines={look.lines} />
        </Section>
      );
    case "command":
      return (
        <Section
          title={
            <>
              <code className="font-mono">
                <ShownText text={look.place} />
              </code>
              , step by step
            </>
          }
        >
          <Command parts={look.parts} />
        </Section>
      );
    case "image":
      return (
        <Section
          title={
            <>
              <code className="font-mono">
                <ShownText text={look.place} />
              </code>{" "}
              as an image
            </>
          }
        >
          <Picture mime={look.mime} data={look.data} width={look.width} height={look.height} from="in the arguments" />
        </Section>
      );
  }
};

/** Arguments drawn as what they are; what is approved is above, whole. */
export const Looks = ({ looks }: { readonly looks: readonly ArgLook[] }) =>
  looks.length === 0 ? null : (
    <div className="mt-4">
      {looks.map((look, index) => (
        // Looks keep their order.
        // oxlint-disable-next-line react/no-array-index-key
        <Look key={index} look={look} />
      ))}
    </div>
  );
