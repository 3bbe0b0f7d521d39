import { Fact } from "../../../components/Fact";
import { plainText } from "../../../components/shown";
import { Section } from "../../../components/Section";
import { ShownText } from "../../../components/ShownText";
import { Moment } from "../../../components/Moment";
import { formatAgo } from "../../../desk/clock";
import { useServerSecond } from "../../../desk/DeskContext";
import type { Card, Shown } from "../../../ipc/generated";

/** `4bf92f35…4736`, the whole of it where the pointer rests. */
const ShortTrace = ({ id }: { readonly id: Shown }) => {
  const plain = plainText(id);
  return /^[0-9a-f]{32}$/.test(plain) ? (
    <>
      {plain.slice(0, 8)}…{plain.slice(-4)}
    </>
  ) : (
    <ShownText text={id} />
  );
};

/** `sha256 4be1 90c7 … 77a2` */
const shortDigest = (digest: string): string => {
  const hex = digest.replace(/^sha256:/, "");
  return `sha256 ${hex.slice(0, 4)} ${hex.slice(4, 8)} … ${hex.slice(-4)}`;
};

const Requested = ({ ms }: { readonly ms: number }) => (
  <>
    <Moment ms={ms} />, <span data-ticks="">{formatAgo(useServerSecond() - ms)}</span>
  </>
);

export const Origin = ({ card }: { readonly card: Card }) => {
  const { origin, tool } = card;
  return (
    <Section title="Origin">
      <dl className="m-0 grid grid-cols-[92px_minmax(0,1fr)] gap-x-2 gap-y-[5px]">
        <Fact name="Stored">
          <Requested ms={card.storedMs} />
        </Fact>
        {origin.source === null ? null : (
          <Fact name="Source">
            <ShownText text={origin.source} />
          </Fact>
        )}
        {tool?.origin == null ? null : (
          <Fact name="Tool">
            <ShownText text={tool.origin} />
            {tool.namespace === null ? null : (
              <>
                , <ShownText text={tool.namespace} />
              </>
            )}
          </Fact>
        )}
        {tool?.effects == null ? null : (
          <Fact name="Effects">
            <ShownText text={tool.effects} />, says the agent
          </Fact>
        )}
        {origin.argsDigest === null ? null : (
          <Fact name="Arguments" title={origin.argsDigest}>
            <code className="font-mono text-xs text-text-2">{shortDigest(origin.argsDigest)}</code>
          </Fact>
        )}
        <Fact name="Request" title={origin.requestDigest}>
          <code className="font-mono text-xs text-text-2">{shortDigest(origin.requestDigest)}</code>
        </Fact>
        {origin.nativeDigest === null ? null : (
          <Fact name="Framework's">
            <code className="font-mono text-xs text-text-2">
              <ShownText text={origin.nativeDigest.alg} /> <ShownText text={origin.nativeDigest.value} />
            </code>
            , not trusted
          </Fact>
        )}
        {origin.trace === null ? null : (
          <Fact name="Trace" title={plainText(origin.trace)}>
            <code className="font-mono text-xs text-text-2">
              <ShortTrace id={origin.trace} />
            </code>
          </Fact>
        )}
        <Fact name="Stream">
          <code className="font-mono text-xs text-text-2">#{origin.streamSeq}</code>
        </Fact>
      </dl>
    </Section>
  );
};
