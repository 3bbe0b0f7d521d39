import { Kbd } from "../Kbd";
import { Section } from "../Section";
import { Unread } from "../Unread";
import { Reasons } from "./Reasons";
import { useWhy } from "./useWhy";

const FEW = 2;

/** Beside the card: why it is asking. */
export const WhyHere = ({ requestKey, workspace }: { readonly requestKey: string; readonly workspace: string }) => {
  const { data, error } = useWhy(requestKey);
  if (data === undefined && error === null) return null;
  return (
    <Section
      title={
        <>
          Why you are asked <Kbd command="why" />
        </>
      }
    >
      <Unread error={error} />
      {data === undefined ? null : data.now === null ? (
        <p className="m-0 border-l-2 border-accent pl-2.5 text-text-2">
          No rules here yet, so every call needs a person.
        </p>
      ) : (
        <Reasons now={data.now} workspace={workspace} most={FEW} briefly />
      )}
    </Section>
  );
};
