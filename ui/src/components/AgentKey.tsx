/** `WORKSPACE/AGENT` where room is short: the agent's own name gives way last, since it tells two of them apart. */
export const AgentKey = ({ of }: { readonly of: string }) => {
  const cut = of.indexOf("/") + 1;
  return (
    <span className="flex min-w-0" title={of}>
      <span className="min-w-4 shrink-[1000] truncate">{of.slice(0, cut)}</span>
      <span className="truncate">{of.slice(cut)}</span>
    </span>
  );
};
