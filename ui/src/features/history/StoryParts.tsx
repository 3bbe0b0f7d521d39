import { Fact } from "../../components/Fact";
import { RawBytes } from "../../components/RawBytes";
import { RuleLink } from "../../components/RuleLink";
import { Section } from "../../components/Section";
import { plainText } from "../../components/shown";
import { ShownText } from "../../components/ShownText";
import { pastOf } from "../../components/verdict";
import { Moment } from "../../components/Moment";
import type { AuditRef, RequestStoryView, SignatureView, VoteView } from "../../ipc/generated";

const code = "font-mono text-xs [overflow-wrap:anywhere] text-text-2";

/** Who signed what is stored, and whether it verifies. */
export const Signature = ({ signature }: { readonly signature: SignatureView }) => (
  <Section title="The signed decision">
    <div data-testid="signature" data-ok={signature.fault === null}>
      {signature.fault === null ? (
        <p className="mt-0 mb-2 text-ok">The signature verifies.</p>
      ) : (
        <p role="alert" className="mt-0 mb-2 text-bad">
          It does not verify: {signature.fault}. The agent denies.
        </p>
      )}
      <dl className="m-0 mb-2 grid grid-cols-[92px_minmax(0,1fr)] gap-x-2 gap-y-[5px]">
        <Fact name="Key">
          <span className={code}>{signature.key === null ? "unsigned" : <ShownText text={signature.key} />}</span>
        </Fact>
        {signature.sig === null ? null : (
          <Fact name="Signature">
            <span className={code}>
              <ShownText text={signature.sig} />
            </span>
          </Fact>
        )}
        <Fact name="Stored">
          <Moment ms={signature.storedMs} exact />, #{signature.streamSeq}
        </Fact>
      </dl>
      <div className="max-h-56 overflow-auto">
        <RawBytes chunks={[signature.payload]} />
      </div>
    </div>
  </Section>
);

/** The votes of several operators, as far as they may be shown. */
export const Votes = ({ votes }: { readonly votes: readonly VoteView[] }) =>
  votes.length === 0 ? null : (
    <Section title="Votes">
      <ul className="selectable m-0 list-none p-0" data-testid="story-votes">
        {votes.map((vote, index) => (
          // Votes keep the order of the stream.
          // oxlint-disable-next-line react/no-array-index-key
          <li key={index} className="py-0.5">
            {vote.verdict === null ? (
              <span className="text-text-3">Somebody has voted; details are shown after your own vote</span>
            ) : (
              <>
                {vote.mine ? "You" : vote.by === null ? "somebody" : <ShownText text={vote.by} />}{" "}
                <span className="text-text-2">{pastOf(plainText(vote.verdict))}</span>
                <span className="text-text-3">
                  {vote.keyTail === null ? "" : `, key ${vote.keyTail}`}
                  {vote.atMs === null ? null : (
                    <>
                      , <Moment ms={vote.atMs} exact />
                    </>
                  )}
                </span>
                {vote.stands === false ? <b className="ml-1 font-semibold text-bad">does not count</b> : null}
              </>
            )}
          </li>
        ))}
      </ul>
    </Section>
  );

/** Where it comes from, when, and which rule let it pass. */
export const Origin = ({ story }: { readonly story: RequestStoryView }) => (
  <Section title="Origin">
    <dl className="m-0 grid grid-cols-[92px_minmax(0,1fr)] gap-x-2 gap-y-[5px]">
      {story.requestedMs === null ? null : (
        <Fact name="Asked">
          <Moment ms={story.requestedMs} exact />, agent’s clock
        </Fact>
      )}
      <Fact name="Stored">
        <Moment ms={story.row.storedMs} exact />, #{story.requestSeq}
      </Fact>
      <Fact name="Read here">
        <Moment ms={story.receivedMs} exact />
      </Fact>
      {story.deadlineMs === null ? null : (
        <Fact name="Deadline">
          <Moment ms={story.deadlineMs} exact />
        </Fact>
      )}
      {story.argsDigest === null ? null : (
        <Fact name="Arguments">
          <span className={code}>{story.argsDigest}</span>
        </Fact>
      )}
      <Fact name="Request">
        <span className={code}>{story.requestDigest}</span>
      </Fact>
      {story.rule === null ? null : (
        <Fact name="Rule">
          <RuleLink
            rule={story.rule}
            workspace={story.row.workspace}
            origin={story.row.origin === null ? "rule" : plainText(story.row.origin)}
          />
          {story.rule.name === null ? null : (
            <span className={`block ${code}`}>
              <ShownText text={story.rule.id} />
            </span>
          )}
          {story.rule.policyDigest === null ? null : (
            <span className={`block ${code}`}>
              <ShownText text={story.rule.policyDigest} />
            </span>
          )}
        </Fact>
      )}
    </dl>
  </Section>
);

/** What the audit log says about it. */
export const Audit = ({ rows }: { readonly rows: readonly AuditRef[] }) => (
  <Section title={`Audit log, ${rows.length} ${rows.length === 1 ? "row" : "rows"}`}>
    <ol className="selectable m-0 list-none p-0 text-[12.5px]" data-testid="story-audit">
      {rows.map((row) => (
        <li key={row.seq} className="row-line py-1 last:border-0">
          <span className="font-mono text-xs text-text-3">#{row.seq}</span> {row.action.replaceAll("_", " ")}
          <span className="text-text-3">
            , <Moment ms={row.atMs} />
          </span>
          <div className="truncate font-mono text-[11px] text-text-3" title={row.hash}>
            {row.hash.slice(0, 16)}… <ShownText text={row.actor} />
          </div>
        </li>
      ))}
    </ol>
  </Section>
);
