/**
 * `WORKSPACE/AGENT` where room is short: the workspace stays, as what is done to the same name in another one is
 * something else.
 */
export const AgentKey = ({ of }: { readonly of: string }) => {
  const cut = of.indexOf("/") + 1;
  return (
    <span className="flex min-w-0" title={of}>
      <span className="max-w-[12ch] shrink-0 truncate">{of.slice(0, cut)}</span>
      <span className="truncate">{of.slice(cut)}</span>
    </span>
  );
};
