// Written by `cargo xtask codegen` from crates/view. Do not edit.

/**
 * Says that the operator has seen an alarm.
 */
export type AcknowledgeArgs = { 
/**
 * Which.
 */
id: number, };

/**
 * Whether an agent is there, by the server's time.
 */
export type AgentPresence = "live" | "silent" | "unheard";

/**
 * A tool as its agent describes it.
 */
export type AgentToolView = { 
/**
 * Its name.
 */
name: Shown, 
/**
 * The agent's words about it.
 */
description: Shown | null, 
/**
 * The risk as the agent says it, an unknown word read as critical; none when it says nothing.
 */
risk: Risk | null, 
/**
 * The agent's own word, where the protocol does not know it.
 */
unknownRisk: Shown | null, 
/**
 * Where it comes from.
 */
origin: Shown | null, 
/**
 * False when it runs at the model's provider: no person can be asked first.
 */
gated: boolean, 
/**
 * An earlier hello listed it, and the last one lists other tools without it.
 */
unlisted: boolean, 
/**
 * Whether the model must keep to the schema.
 */
strict: boolean, 
/**
 * Where a strict tool's schema is not strict.
 */
strictFaults: Array<HelloFaultView>, 
/**
 * Another tool of this agent that it could be mistaken for.
 */
looksLike: Shown | null, 
/**
 * `sha256:…` of its definition; none when no hello lists it.
 */
digest: string | null, 
/**
 * When a person last approved a call of it.
 */
approvedMs: number | null, 
/**
 * Its definition differs from the one at a person's last approval of a call.
 */
changed: boolean, 
/**
 * Both definitions, indented, where they differ: as approved, and now.
 */
before: Shown | null, 
/**
 * The definition now, indented, where it differs from the approved one.
 */
now: Shown | null, 
/**
 * What is typed before a critical call of it is approved. None where its name may look like another on screen.
 */
typed: ToolTarget | null, };

/**
 * One agent.
 */
export type AgentView = { 
/**
 * `WORKSPACE/AGENT`.
 */
key: string, 
/**
 * Workspace.
 */
workspace: string, 
/**
 * Agent.
 */
agent: string, 
/**
 * What kind of agent it says it is.
 */
kind: Shown | null, 
/**
 * The framework and its version.
 */
framework: Shown | null, 
/**
 * Whether it is there.
 */
presence: AgentPresence, 
/**
 * When it was last heard.
 */
lastSeenMs: number | null, 
/**
 * When its last request was stored.
 */
lastRequestMs: number | null, 
/**
 * Requests that wait.
 */
waiting: number, 
/**
 * Whether it has a login of this console.
 */
enrolled: boolean, 
/**
 * When its login was taken away.
 */
revokedMs: number | null, 
/**
 * Paused or stopped, and by whom.
 */
brake: ControlView | null, 
/**
 * What the last probe found of the gate in front of it.
 */
gate: GateView | null, 
/**
 * Its copies, those heard last first.
 */
instances: Array<InstanceView>, 
/**
 * Its tools, in the order of its hello.
 */
tools: Array<AgentToolView>, 
/**
 * Its credentials.
 */
credentials: Array<CredentialView>, 
/**
 * Names of its skills.
 */
skills: Array<Shown>, 
/**
 * When its last readable hello was stored.
 */
helloMs: number | null, 
/**
 * Why the hello after that one could not be read.
 */
helloFault: Shown | null, 
/**
 * What of the hello had to be left out.
 */
faults: Array<HelloFaultView>, };

/**
 * Words of the agent, never facts.
 */
export type AgentWords = { 
/**
 * The field that held them: `title`, `reason`, `preview`, `explanation`, `command`.
 */
field: string, 
/**
 * The words.
 */
text: Shown, };

/**
 * All agents.
 */
export type AgentsView = { 
/**
 * By name.
 */
agents: Array<AgentView>, 
/**
 * The server's time when it was read.
 */
serverMs: number, };

/**
 * One alarm of the list.
 */
export type AlarmItem = { 
/**
 * Its number, for acknowledging it; 0 for one that could not be written.
 */
id: number, 
/**
 * A stable word.
 */
code: string, 
/**
 * To whom or to what.
 */
subject: Shown, 
/**
 * `WORKSPACE/AGENT/ID` of the request that it is about, where it is about one.
 */
request: string | null, 
/**
 * When.
 */
atMs: number, 
/**
 * The operator that it is about, where it says that one joined.
 */
joined: JoinedView | null, 
/**
 * What happened, one sentence.
 */
happened: string, 
/**
 * What to do next, one sentence; commands are in back quotes.
 */
next: string, 
/**
 * It reports a lasting state: it ends with its cause and cannot be acknowledged.
 */
lasts: boolean, 
/**
 * Who has seen it; none while nobody has.
 */
seen: AlarmSeen | null, };

/**
 * Who said that an alarm was seen.
 */
export type AlarmSeen = { 
/**
 * When.
 */
atMs: number, 
/**
 * The operator's name, where the list of operators has the key.
 */
by: Shown | null, 
/**
 * Last characters of the operator's public key.
 */
keyTail: string, };

/**
 * A thing that wants a person's eyes.
 */
export type AlarmView = { 
/**
 * Its number, for acknowledging it; 0 for one that could not be written.
 */
id: number, 
/**
 * A stable word.
 */
code: string, 
/**
 * What happened and what to do next, for a person.
 */
sentence: string, 
/**
 * To whom or to what.
 */
subject: Shown, 
/**
 * When.
 */
atMs: number, };

/**
 * Every active alarm, newest first, the acknowledged ones too.
 */
export type AlarmsView = { 
/**
 * At most the newest 1,000.
 */
alarms: Array<AlarmItem>, };

/**
 * The answer of a `respond`.
 */
export type Answer = { "type": "option", 
/**
 * Place among the card's options.
 */
index: number, 
/**
 * More words, where the question allows them.
 */
text: string | null, } | { "type": "text", 
/**
 * The words.
 */
text: string, } | { "type": "form", 
/**
 * The JSON.
 */
json: string, };

/**
 * Whether the answer of a form may be sent.
 */
export type AnswerCheck = { 
/**
 * Empty when it may be sent.
 */
problems: Array<EditProblem>, };

/**
 * One top-level entry of the arguments, in the order received and never shortened.
 */
export type ArgEntry = { 
/**
 * Its name; none when the arguments are not an object.
 */
name: Shown | null, 
/**
 * Its value as JSON, indented where it is long.
 */
value: Array<ArgPart>, };

/**
 * How an argument looks as what it is. The arguments stay what is approved.
 */
export type ArgLook = { "type": "change", 
/**
 * The file, where the arguments name one.
 */
path: Shown | null, 
/**
 * Line by line.
 */
lines: Array<DiffLine>, } | { "type": "command", 
/**
 * The argument.
 */
place: Shown, 
/**
 * Its parts in their order, those inside of one behind it.
 */
parts: Array<CommandPart>, } | { "type": "image", 
/**
 * The argument.
 */
place: Shown, 
/**
 * `image/png`, `image/jpeg`, `image/gif` or `image/webp`, as its bytes say.
 */
mime: string, 
/**
 * Base64.
 */
data: string, 
/**
 * Pixels.
 */
width: number, 
/**
 * Pixels.
 */
height: number, };

/**
 * A piece of a value.
 */
export type ArgPart = { "type": "text", 
/**
 * The text.
 */
text: Shown, 
/**
 * Why it is marked.
 */
mark?: PartMark, } | { "type": "hidden", 
/**
 * Number of the reveal within the card; none where it cannot be opened from here.
 */
reveal: number | null, 
/**
 * Length in characters.
 */
characters: number, 
/**
 * First 8 hex characters of a keyed digest: equal values look equal.
 */
digest: string, 
/**
 * Why it is marked.
 */
mark?: PartMark, };

/**
 * Something that a span made and keeps elsewhere.
 */
export type ArtifactView = { 
/**
 * Its file name, else its address.
 */
name: Shown, 
/**
 * What the agent calls it.
 */
mime: Shown | null, 
/**
 * What it is for.
 */
role: Shown | null, 
/**
 * How long it is kept.
 */
retention: Shown | null, 
/**
 * Where it lies: shown, never fetched.
 */
url: Shown | null, 
/**
 * Digest, as the agent states it.
 */
sha256: Shown | null, 
/**
 * Bytes, as the agent states them.
 */
size: number | null, };

/**
 * A row of the audit log that is about the request.
 */
export type AuditRef = { 
/**
 * Number of the row.
 */
seq: number, 
/**
 * Its hash, hexadecimal.
 */
hash: string, 
/**
 * What happened.
 */
action: string, 
/**
 * Who did it: a public key, or `WORKSPACE/AGENT`.
 */
actor: Shown, 
/**
 * When.
 */
atMs: number, };

/**
 * The head of the audit chain.
 */
export type AuditView = { 
/**
 * Rows so far.
 */
seq: number, 
/**
 * Hash of the last one, lowercase hex.
 */
hash: string, 
/**
 * Last row whose hash is anchored on the bus.
 */
anchoredSeq: number | null, };

/**
 * A valid vote, as far as it may be shown.
 */
export type BallotView = { "type": "hidden" } | { "type": "open", 
/**
 * `approve` or `modify`.
 */
verdict: string, 
/**
 * Who gave it.
 */
by: Shown, 
/**
 * Last characters of their key.
 */
keyTail: string, 
/**
 * When it was stored.
 */
atMs: number, 
/**
 * Whether this console's operator gave it.
 */
mine: boolean, };

/**
 * The bus as this console sees it.
 */
export type BusView = { 
/**
 * Whether it is connected.
 */
connected: boolean, 
/**
 * The server's address, without user and password.
 */
url: string, 
/**
 * The server's version.
 */
serverVersion: string | null, 
/**
 * What is insecure: `single_account`, `no_tls`, `open_permissions`.
 */
insecure: Array<string>, };

/**
 * Lets calls of an agent run without asking for a while, or ends that before its time.
 */
export type BypassArgs = { 
/**
 * `WORKSPACE/AGENT`.
 */
agent: string, 
/**
 * None ends it.
 */
grant: BypassFor | null, };

/**
 * How far a bypass goes.
 */
export type BypassFor = { 
/**
 * The highest risk; never critical.
 */
upTo: Risk, 
/**
 * How long from now, in seconds; at most 8 hours.
 */
seconds: number, };

/**
 * An agent whose calls need not ask for a while.
 */
export type BypassView = { 
/**
 * `WORKSPACE/AGENT`.
 */
agent: string, 
/**
 * The highest risk that it covers.
 */
upTo: Risk, 
/**
 * From here on it is over.
 */
untilMs: number, 
/**
 * Who started it.
 */
by: Shown, };

/**
 * One request whole.
 */
export type Card = { 
/**
 * `WORKSPACE/AGENT/ID`.
 */
key: string, 
/**
 * Workspace.
 */
workspace: string, 
/**
 * Whether the workspace is marked as production at this console.
 */
production: boolean, 
/**
 * Agent.
 */
agent: string, 
/**
 * Request id (of the subject's grammar).
 */
requestId: string, 
/**
 * What is asked.
 */
kind: RequestKind, 
/**
 * The tool; none for questions and forms.
 */
tool: ToolView | null, 
/**
 * Effective risk.
 */
risk: Risk, 
/**
 * The agent's own word, where the protocol does not know it.
 */
unknownRisk: Shown | null, 
/**
 * Which way an approval takes.
 */
path: DecidePath, 
/**
 * Its state.
 */
state: CardState, 
/**
 * The agent's words.
 */
says: Array<AgentWords>, 
/**
 * The arguments at the gate; none for questions and forms.
 */
args: Array<ArgEntry> | null, 
/**
 * What of them is a change to a file, a shell command or an image.
 */
looks: Array<ArgLook>, 
/**
 * What the framework will still change.
 */
effective: Array<EffectiveGroup>, 
/**
 * Reasons to look twice.
 */
warnings: Array<WarningView>, 
/**
 * What V opens.
 */
reveals: Array<Reveal>, 
/**
 * What the console finds, the strongest first.
 */
findings: Array<FindingView>, 
/**
 * What a second reader, a machine, added; nothing but eyes reads it.
 */
reader: Array<ReaderMarkView>, 
/**
 * What will happen, in the console's own sentence; none where it cannot be sure.
 */
effect: Shown | null, 
/**
 * How long it takes to read the arguments that are not the same as in the compared call.
 */
readMs: number, 
/**
 * The nearest call that a person approved.
 */
compared: ComparedView | null, 
/**
 * The newest call like it that a person denied.
 */
denied: DeniedView | null, 
/**
 * The newest call that this one repeats; none where a warning names it. Nothing follows from it.
 */
reAsk: ReAskView | null, 
/**
 * Messages that led here.
 */
history: Array<HistoryMessage>, 
/**
 * The question.
 */
question: QuestionView | null, 
/**
 * The form.
 */
form: FormView | null, 
/**
 * What to type on the critical way.
 */
target: TypedTarget, 
/**
 * The agent's thread.
 */
thread: Shown | null, 
/**
 * The agent's run.
 */
run: Shown | null, 
/**
 * The verdicts that the agent can honour; deny always.
 */
allowed: Array<Verdict>, 
/**
 * How far the operators are, where several must agree.
 */
votes: VotesView | null, 
/**
 * Where it comes from.
 */
origin: OriginView, 
/**
 * The server's stamp of the stored request.
 */
storedMs: number, 
/**
 * From here on no approval takes effect.
 */
deadlineMs: number, 
/**
 * False when the agent set no deadline and the longest lifetime applies.
 */
hasDeadline: boolean, 
/**
 * A held approval.
 */
hold: HoldView | null, 
/**
 * The valid decision.
 */
decision: DecisionView | null, 
/**
 * Another decision on the bus.
 */
onBus: OnBusView | null, 
/**
 * Stored, decided, on the bus, received, executed.
 */
ladder: Array<Rung>, };

/**
 * The state of a request. The words are those of the command line contract.
 */
export type CardState = "pending" | "holding" | "queued" | "decided" | "expired" | "withdrawn" | "rejected" | "void";

/**
 * One call of a chain, as the chain's own record says.
 */
export type ChainCall = { 
/**
 * The tool.
 */
tool: Shown, 
/**
 * `ok`, `error`, `denied`, `timeout`, or the framework's own word.
 */
status: Shown, 
/**
 * How long it took.
 */
durationMs: number | null, 
/**
 * The framework's own digest of the arguments.
 */
argsDigest: Shown | null, };

/**
 * Asks whether an edit, or the answer of a form, may be sent.
 */
export type CheckEditArgs = { 
/**
 * Which request.
 */
key: string, 
/**
 * The editor's text.
 */
json: string, };

/**
 * Asks whether a rule may be saved.
 */
export type CheckRuleArgs = { 
/**
 * As in [`RuleText`].
 */
text: string, };

/**
 * Chooses what is typed before a critical call of a tool is approved.
 */
export type ChooseTargetArgs = { 
/**
 * `WORKSPACE/AGENT`.
 */
agent: string, 
/**
 * The tool's name.
 */
tool: string, 
/**
 * JSON pointer to an argument; none for the tool's name.
 */
pointer: string | null, };

/**
 * One command of a shell command line.
 */
export type CommandPart = { 
/**
 * The operator before it; empty at the beginning of a line.
 */
joint: Shown, 
/**
 * Its first word; empty where variables are set before it.
 */
program: Shown, 
/**
 * What follows, as it was written.
 */
rest: Shown, 
/**
 * 0; more for a command inside of the one before it.
 */
depth: number, };

/**
 * Each command's name with its argument and its result.
 */
export type Commands = { 
/**
 * What waits next, in deadline order: drawn while the whole list is read.
 */
inbox_first: [Nothing, InboxFirst], 
/**
 * All requests that wait, in deadline order.
 */
inbox_snapshot: [Nothing, InboxSnapshot], 
/**
 * One request whole.
 */
card: [KeyArgs, Card], 
/**
 * One hidden value or one value with hidden characters; written to the audit log.
 */
reveal: [RevealArgs, Revealed], 
/**
 * A part of the request's bytes as received.
 */
raw: [RawArgs, RawChunk], 
/**
 * The arguments as JSON for the editor.
 */
editable: [KeyArgs, EditorText], 
/**
 * Whether edited arguments may be sent, and how they differ.
 */
check_edit: [CheckEditArgs, EditCheck], 
/**
 * Whether the answer of a form fits its schema.
 */
check_answer: [CheckEditArgs, AnswerCheck], 
/**
 * Gives a verdict.
 */
decide: [DecideArgs, DecideOutcome], 
/**
 * Takes a held approval back.
 */
undo: [KeyArgs, Nothing], 
/**
 * Rejected messages, newest first.
 */
rejected_list: [RejectedPageArgs, RejectedPage], 
/**
 * One rejected message.
 */
rejected_detail: [KeyArgs, RejectedDetail], 
/**
 * A part of a rejected message's bytes.
 */
rejected_raw: [RawArgs, RawChunk], 
/**
 * Requests that pass a filter, in some order.
 */
history_page: [HistoryPageArgs, HistoryPage], 
/**
 * How many requests pass a filter.
 */
history_count: [HistoryFilterView, HistoryCount], 
/**
 * Asks the person for a file, and begins to write all that passes a filter there. Audited.
 */
start_export: [ExportArgs, ExportStarted], 
/**
 * How far that is.
 */
export: [ExportNumber, ExportView], 
/**
 * Ends it; no file is left.
 */
stop_export: [ExportNumber, Nothing], 
/**
 * The values that filters can take.
 */
history_filter_values: [Nothing, HistoryFilterValues], 
/**
 * A request's whole story.
 */
request_story: [KeyArgs, RequestStoryView], 
/**
 * The searches that were given a name.
 */
saved_searches: [Nothing, SavedSearches], 
/**
 * Keeps a search under its name, in the place of one with the same.
 */
save_search: [SavedSearch, SavedSearches], 
/**
 * Forgets a saved search.
 */
forget_search: [SearchName, SavedSearches], 
/**
 * Numbers about a time.
 */
overview: [OverviewArgs, OverviewView], 
/**
 * Traces, the one last written to first.
 */
traces_page: [TracesPageArgs, TracesPage], 
/**
 * One call tree.
 */
trace_tree: [TraceArgs, TraceTree], 
/**
 * One span whole.
 */
span: [SpanArgs, SpanView], 
/**
 * A part of a span's bytes.
 */
span_raw: [RawArgs, RawChunk], 
/**
 * How the calls of a request's tool ended before it.
 */
tool_record: [KeyArgs, ToolRecordView], 
/**
 * The trace until a request was asked; no line where its agent sent none.
 */
led_here: [KeyArgs, LedHere], 
/**
 * Pauses or stops an agent, or releases it; it is on the bus when this returns.
 */
brake: [ControlArgs, ControlOutcome], 
/**
 * Turns every automatic approval off, or lets them be given again.
 */
panic: [PanicArgs, ControlOutcome], 
/**
 * Lets calls of an agent run without asking for a while, or ends that; it is on the bus when this returns.
 * Audited.
 */
bypass: [BypassArgs, ControlOutcome], 
/**
 * Bus, backlog, alarms, operator and audit head.
 */
status: [Nothing, StatusView], 
/**
 * How quickly people decide today.
 */
today: [TodayArgs, TodayView], 
/**
 * Every active alarm, the acknowledged ones too.
 */
alarms_list: [Nothing, AlarmsView], 
/**
 * Says that the operator has seen an alarm: the status stops showing it. Audited.
 */
acknowledge_alarm: [AcknowledgeArgs, AlarmItem], 
/**
 * Every known agent with what it lets people set.
 */
setup_list: [Nothing, SetupLines], 
/**
 * One agent's setup keys.
 */
setup_of: [SetupArgs, SetupForm], 
/**
 * Changes setup keys, all or none, on the revision that was seen. Audited.
 */
setup_save: [SetupSaveArgs, SetupSaved], 
/**
 * How this console was started, who it is and what it keeps.
 */
settings: [Nothing, SettingsView], 
/**
 * Whether practice cards come, and what people saw.
 */
practice: [Nothing, PracticeView], 
/**
 * Turns them on or off. Audited.
 */
set_practice: [SetPracticeArgs, PracticeView], 
/**
 * Where a second reader sends arguments, and what came of it.
 */
reader: [Nothing, ReaderView], 
/**
 * The known programs that can read.
 */
readers_found: [Nothing, ReadersFound], 
/**
 * Asks one of them about a made-up card, then lets it read. Audited.
 */
use_reader: [UseReaderArgs, ReaderView], 
/**
 * Stops the reader. Audited.
 */
stop_reader: [Nothing, ReaderView], 
/**
 * Asks the reader about twelve made-up cards.
 */
try_reader: [Nothing, ReaderTried], 
/**
 * Whether hasty decisions slow the next card down. Turning it on or off is audited.
 */
haste_brake: [HasteArgs, HasteView], 
/**
 * Every agent that is known: its copies, its tools, its credentials.
 */
agents_list: [Nothing, AgentsView], 
/**
 * Who may decide in the realm, since when and by whom.
 */
operators_list: [Nothing, OperatorsView], 
/**
 * Chooses what is typed before a critical call of a tool is approved. Audited.
 */
choose_target: [ChooseTargetArgs, Nothing], 
/**
 * A workspace's rules and what they did.
 */
rules_list: [RulesArgs, RulesView], 
/**
 * One rule for the editor.
 */
rule_text: [RuleArgs, RuleText], 
/**
 * Who changed it, what and when.
 */
rule_changes: [RuleArgs, RuleChangesView], 
/**
 * What can be written in a rule.
 */
rule_words: [Nothing, RuleWords], 
/**
 * Whether a rule may be saved: the check of `countersign rules check`.
 */
check_rule: [CheckRuleArgs, RuleCheck], 
/**
 * Saves a rule unless somebody else changed it, or it would approve what people denied; it is on the bus
 * when this returns.
 */
save_rule: [SaveRuleArgs, SavedRule], 
/**
 * Removes a rule unless that would approve what people denied; it is gone from the bus when this returns.
 */
remove_rule: [RemoveRuleArgs, RemovedRule], 
/**
 * Begins to try a rule on the past.
 */
start_preview: [StartPreviewArgs, PreviewNumber], 
/**
 * How far that is, and what it found.
 */
preview: [PreviewNumber, PreviewView], 
/**
 * Ends it.
 */
stop_preview: [PreviewNumber, Nothing], 
/**
 * The narrowest rule that approves a request; it is stored nowhere yet.
 */
draft_rule: [DraftRuleArgs, RuleText], 
/**
 * Rules that would have said what people said again and again.
 */
suggestions: [SuggestionsArgs, SuggestionsView], 
/**
 * Takes a suggestion away for good, or back.
 */
dismiss_suggestion: [DismissArgs, Nothing], 
/**
 * Calls an automatic decision wrong; what decided it is suspended when this returns.
 */
regret: [RegretArgs, RegretOutcome], 
/**
 * Which rule decides a request or asks, which nearly did, and which setup key.
 */
why: [KeyArgs, WhyView], 
/**
 * What happens now to each tool at each risk.
 */
matrix: [RulesArgs, MatrixView], 
/**
 * The server's time now.
 */
server_time: [Nothing, ServerTime], 
/**
 * Which desktop notifications are wanted from now on.
 */
notify: [NotifyArgs, Nothing], 
/**
 * How to connect an agent to this console.
 */
connect_hint: [Nothing, ConnectHint], };

/**
 * The nearest call that a person approved.
 */
export type ComparedView = { 
/**
 * `WORKSPACE/AGENT/ID`.
 */
key: string, 
/**
 * When it was approved.
 */
atMs: number, 
/**
 * Who approved it.
 */
by: Shown | null, 
/**
 * Only what differs, in the order of the arguments.
 */
differs: Array<DiffersView>, 
/**
 * How many arguments are the same.
 */
same: number, };

/**
 * A command for a person to run.
 */
export type ConnectCommand = { 
/**
 * What it does.
 */
label: string, 
/**
 * The command, to be copied whole.
 */
command: string, };

/**
 * How to connect an agent to this console.
 */
export type ConnectHint = { 
/**
 * Address of the bus, without user and password.
 */
natsUrl: string, 
/**
 * Enrolment file for a local agent; none on an outside server.
 */
agentJson: string | null, 
/**
 * This program and its data folder, as the beginning of a command.
 */
program: string, 
/**
 * Commands that work on this machine unchanged.
 */
commands: Array<ConnectCommand>, };

/**
 * Pauses or stops an agent, or releases it.
 */
export type ControlArgs = { 
/**
 * `WORKSPACE/AGENT`.
 */
agent: string, 
/**
 * From now on.
 */
state: ControlState, 
/**
 * As in [`super::SaveRuleArgs`].
 */
acceptWaiting: Array<string>, };

/**
 * A panic, pause, stop or bypass that was stored on the bus.
 */
export type ControlOutcome = { 
/**
 * Waiting calls that were terminated or denied.
 */
terminated: number, 
/**
 * Nothing was changed: the operator is to be asked about these.
 */
waiting: WaitingCalls | null, };

/**
 * Whether an agent runs, is paused or is stopped.
 */
export type ControlState = "running" | "paused" | "stopped";

/**
 * A paused or stopped agent.
 */
export type ControlView = { 
/**
 * `WORKSPACE/AGENT`.
 */
agent: string, 
/**
 * New calls are denied; otherwise only automatic approvals are off.
 */
stopped: boolean, 
/**
 * Who did it.
 */
by: Shown, };

/**
 * The state of a credential, never its value.
 */
export type CredentialView = { 
/**
 * The tool that needs it.
 */
tool: Shown | null, 
/**
 * Where it is kept.
 */
artifact: Shown | null, 
/**
 * Its state, in the agent's word.
 */
status: Shown | null, 
/**
 * Names of values that are missing.
 */
missingKeys: Array<Shown>, };

/**
 * A verdict with everything that it needs.
 */
export type DecideArgs = { 
/**
 * Which request.
 */
key: string, 
/**
 * The verdict.
 */
verdict: Verdict, 
/**
 * Digest of the request's payload that the card showed: what was seen is what is decided.
 */
seenRequestDigest: string, 
/**
 * Digest of the arguments that the card showed; none where the card has no arguments.
 */
seenArgsDigest: string | null, 
/**
 * The editor's text, for `modify`.
 */
edited: string | null, 
/**
 * Digest of the edited arguments that the diff showed, for `modify`.
 */
seenEditDigest: string | null, 
/**
 * For the agent: why, or what to do instead.
 */
message: string | null, 
/**
 * For `respond`.
 */
answer: Answer | null, 
/**
 * The typed target, on the critical way.
 */
typed: string | null, 
/**
 * The card's reveals that were opened, on the critical way.
 */
revealed: Array<number>, 
/**
 * How far an approval is meant, recorded in the decision: it grants nothing. Absent is `once`.
 */
scope?: Scope, 
/**
 * How long the card was in front and armed, ms. Of several cards that were decided together: the share of each.
 */
frontMs?: number, 
/**
 * Whether the arguments were seen to their end.
 */
toEnd?: boolean, };

/**
 * What became of a verdict. Only `decided` means that the stream has acknowledged it.
 */
export type DecideOutcome = { 
/**
 * The request's state now.
 */
state: CardState, 
/**
 * The verdict that is sent; `terminate` may have become `deny`.
 */
verdict: string, 
/**
 * When a held approval is signed and sent.
 */
releaseMs: number | null, 
/**
 * What came of a practice card; none of a request.
 */
practice?: PracticeAnswer, };

/**
 * Which way an approval takes (operator's desk, "Deciding").
 */
export type DecidePath = "low" | "high" | "critical";

/**
 * Something happened to a request: the open card reads itself again, and the operator sees who decided.
 */
export type DecidedNotice = { 
/**
 * Which request.
 */
key: string, 
/**
 * The valid verdict, or `expired`, `withdrawn` or `void` where the request ended without one; none while it goes
 * on.
 */
verdict: string | null, 
/**
 * Who gave it.
 */
by: Shown | null, 
/**
 * Whether this console's operator gave it.
 */
mine: boolean, };

/**
 * The valid decision.
 */
export type DecisionView = { 
/**
 * The verdict's word.
 */
verdict: string, 
/**
 * Who decided: `operator`, `rule`, `setup_key`, `timeout`, `agent`, `system`.
 */
origin: string, 
/**
 * Their name.
 */
by: Shown, 
/**
 * Last characters of their key.
 */
keyTail: string, 
/**
 * Whether this console's operator gave it.
 */
mine: boolean, 
/**
 * Their words to the agent.
 */
message: Shown | null, 
/**
 * The rule or the setup key that decided; none where a person did.
 */
rule: RuleRef | null, 
/**
 * How far it was meant, where that is more than this call; it grants nothing.
 */
scope?: Scope, 
/**
 * When, by the deciding console's clock.
 */
atMs: number | null, 
/**
 * The arguments that may run, where they were edited.
 */
edited: Array<ArgEntry>, };

/**
 * Calls that people denied and a change of the rules would approve. Nothing was changed.
 */
export type DeniedCalls = { 
/**
 * How many; none where counting took too long.
 */
count: number | null, 
/**
 * The newest first; at most 20.
 */
calls: Array<PreviewCase>, };

/**
 * The newest call like it that a person denied.
 */
export type DeniedView = { 
/**
 * `WORKSPACE/AGENT/ID`.
 */
key: string, 
/**
 * When it was denied.
 */
atMs: number, 
/**
 * Who denied it.
 */
by: Shown | null, 
/**
 * What the person wrote.
 */
why: Shown | null, };

/**
 * What a line of the diff shows.
 */
export type DiffKind = "same" | "old" | "new";

/**
 * One line of a diff.
 */
export type DiffLine = { 
/**
 * Its kind.
 */
kind: DiffKind, 
/**
 * The line.
 */
text: Shown, };

/**
 * One place at which a call differs from an earlier one.
 */
export type DiffersView = { 
/**
 * The place, for a person: `attendees[2]`.
 */
place: Shown, 
/**
 * Then; none where there was none, and where `lines` shows both.
 */
was: Array<ArgPart> | null, 
/**
 * Now; none where it is gone, and where `lines` shows both.
 */
is: Array<ArgPart> | null, 
/**
 * Both line by line, where one of them has several lines; empty otherwise.
 */
lines: Array<DiffLine>, };

/**
 * Takes a suggestion away for good, or back.
 */
export type DismissArgs = { 
/**
 * Its workspace.
 */
workspace: string, 
/**
 * Its id.
 */
id: string, 
/**
 * False suggests it again.
 */
dismissed: boolean, };

/**
 * Asks for the narrowest rule that approves a request.
 */
export type DraftRuleArgs = { 
/**
 * Which request.
 */
key: string, 
/**
 * How far it reaches.
 */
reach: GrantReach, 
/**
 * For `always`, 1 to 366; none is 90.
 */
days: number | null, };

/**
 * Whether an edit may be sent, and how it differs from the arguments at the gate.
 */
export type EditCheck = { 
/**
 * Empty when it may be sent.
 */
problems: Array<EditProblem>, 
/**
 * Digest of the edited arguments; none while they are not JSON of the protocol.
 */
argsDigest: string | null, 
/**
 * What to type on the critical way before the edited arguments run; none while there are problems.
 */
target: TypedTarget | null, 
/**
 * False when nothing was changed.
 */
changed: boolean, 
/**
 * Both, line by line.
 */
diff: Array<DiffLine>, };

/**
 * What is wrong with an edit or an answer, and where.
 */
export type EditProblem = { 
/**
 * Line in the editor, from 1; none where the place is unknown.
 */
line: number | null, 
/**
 * JSON pointer into the arguments or the answer.
 */
path: Shown, 
/**
 * What is wrong.
 */
message: Shown, };

/**
 * JSON for the editor: pure ASCII, so that no hidden character can hide in it. A placeholder replaces a hidden value
 * and keeps it when it is left alone.
 */
export type EditorText = { 
/**
 * The JSON, indented.
 */
json: string, };

/**
 * Something that the framework does to the arguments after the gate (protocol, `effective`).
 */
export type EffectiveGroup = { 
/**
 * `fixed`, `defaults`, `injected_names`, `dropped_names`, `coerced`, or the agent's own word.
 */
name: Shown, 
/**
 * What it holds.
 */
entries: Array<ArgEntry>, };

/**
 * Why a command did not do what was asked.
 */
export type ErrorCode = "failed" | "usage" | "environment" | "ambiguous_id" | "not_found" | "already_decided" | "expired" | "verdict_not_allowed" | "digest_differs" | "not_approvable" | "invalid_args" | "bus_unreachable" | "read_only";

/**
 * Asks for an export of all that passes a filter.
 */
export type ExportArgs = { 
/**
 * What to look for.
 */
filter: HistoryFilterView, 
/**
 * How it is written.
 */
format: ExportFormat, };

/**
 * How an export is written.
 */
export type ExportFormat = "csv" | "jsonl";

/**
 * An export that was begun.
 */
export type ExportNumber = { 
/**
 * Which.
 */
number: number, };

/**
 * What came of the question for a file.
 */
export type ExportStarted = { 
/**
 * The export; none where the person chose no file.
 */
number: number | null, };

/**
 * How far an export is.
 */
export type ExportView = { 
/**
 * Name of the file.
 */
file: Shown, 
/**
 * Requests that were written.
 */
done: number, 
/**
 * The file is whole.
 */
ended: boolean, 
/**
 * Why the file is missing.
 */
trouble: string | null, };

/**
 * A value that a filter can take, and how it is shown.
 */
export type FilterValue = { 
/**
 * What goes into the filter. Never shown.
 */
value: string, 
/**
 * How it reads.
 */
label: Shown, };

/**
 * A sentence with a fact about one place in the arguments.
 */
export type FindingView = { 
/**
 * What kind, such as `near_miss`.
 */
code: string, 
/**
 * How wrong it usually is.
 */
weight: FindingWeight, 
/**
 * JSON pointer to the innermost value concerned; empty for the whole call.
 */
at: Shown, 
/**
 * The sentence, in English; amounts as 12,490.00.
 */
message: Shown, };

/**
 * How wrong it usually is.
 */
export type FindingWeight = "stop" | "look";

/**
 * A folder or a file of this console.
 */
export type FolderView = { 
/**
 * `data`, `database`, `keys`, `config`.
 */
what: string, 
/**
 * Where it is.
 */
path: string, 
/**
 * Whether it is there.
 */
exists: boolean, };

/**
 * The fields of a form.
 */
export type FormFields = { 
/**
 * JSON Schema of what can be filled in, without rules and texts: places in `texts` replace them.
 */
structure: string, 
/**
 * JSON of what is filled in at first: the agent's defaults of fields that may stay empty.
 */
initial: string, 
/**
 * The agent's texts.
 */
texts: Array<Shown>, };

/**
 * A form.
 */
export type FormView = { 
/**
 * The schema of the answer, indented.
 */
schema: Shown, 
/**
 * Its fields; none where only JSON can answer it.
 */
fields: FormFields | null, 
/**
 * Why it has no fields.
 */
jsonOnly: Shown | null, };

/**
 * The gate in front of an agent's program.
 */
export type GateView = { 
/**
 * When a probe last held.
 */
heldMs: number | null, 
/**
 * Why it is open; none while it holds.
 */
open: Shown | null, };

/**
 * How far a grant reaches.
 */
export type GrantReach = "thread" | "always";

/**
 * Turns the slowdown of hasty decisions on or off.
 */
export type HasteArgs = { 
/**
 * None only asks.
 */
on: boolean | null, };

/**
 * Whether a card is slowed down after several that were decided in haste.
 */
export type HasteView = { 
/**
 * It is.
 */
on: boolean, };

/**
 * Something that is wrong, and where.
 */
export type HelloFaultView = { 
/**
 * JSON pointer into the hello, empty for the whole.
 */
path: Shown, 
/**
 * What is wrong.
 */
what: Shown, };

/**
 * How many requests pass a filter.
 */
export type HistoryCount = { 
/**
 * So many were counted.
 */
requests: number, 
/**
 * These are all. Otherwise these are the newest, and counting the rest takes too long.
 */
whole: boolean, };

/**
 * Where the next page of an order begins: handed back as it came.
 */
export type HistoryCursor = { 
/**
 * Part of the order.
 */
part: number, 
/**
 * When the last row was decided.
 */
at: number, 
/**
 * The last row.
 */
id: number, };

/**
 * The values that occur, for the filters; at most 500 of a kind, in alphabetical order.
 */
export type HistoryFilterValues = { 
/**
 * Workspaces.
 */
workspaces: Array<FilterValue>, 
/**
 * `WORKSPACE/AGENT`.
 */
agents: Array<FilterValue>, 
/**
 * Tools.
 */
tools: Array<FilterValue>, 
/**
 * Operators by their key.
 */
operators: Array<FilterValue>, 
/**
 * Rules by their id.
 */
rules: Array<FilterValue>, };

/**
 * What to look for. Every given part must hold; an empty filter finds everything.
 */
export type HistoryFilterView = { 
/**
 * Plain words that must all occur, `"…"` a phrase, a trailing `*` a prefix; never an error.
 */
text: string, 
/**
 * Workspace.
 */
workspace: string | null, 
/**
 * `WORKSPACE/AGENT`, or an agent's name in any workspace.
 */
agent: string | null, 
/**
 * Tool name, whole; the value to filter by, not the text that is shown.
 */
tool: string | null, 
/**
 * Effective risk.
 */
risk: Risk | null, 
/**
 * Its state.
 */
state: HistoryState | null, 
/**
 * Verdict, or several: `allowed` for `approve` and `modify`, `refused` for `deny` and `terminate`,
 * `caught` for `modify`, `deny` and `terminate`.
 */
verdict: string | null, 
/**
 * Who decided: `operator`, `rule`, `setup_key`, `timeout`, `agent`, `system`; `automatic` for `rule` and `setup_key`.
 */
origin: string | null, 
/**
 * Public key of the operator who signed the decision.
 */
operator: string | null, 
/**
 * Id of the rule that decided.
 */
rule: string | null, 
/**
 * Only what was decided in this console's window in less time than it takes to read.
 */
hasty: boolean, 
/**
 * Only answers whose delivery is overdue now.
 */
overdue: boolean, 
/**
 * Stored at or after.
 */
sinceMs: number | null, 
/**
 * Stored before.
 */
untilMs: number | null, };

/**
 * A message that led here.
 */
export type HistoryMessage = { 
/**
 * Who spoke, says the agent.
 */
role: Shown, 
/**
 * What was said.
 */
content: Shown, };

/**
 * A page of the history.
 */
export type HistoryPage = { 
/**
 * The lines. A page may be short, or empty, and still not be the last.
 */
rows: Array<HistoryRow>, 
/**
 * Cursor of the next page; none at the end.
 */
next: HistoryCursor | null, 
/**
 * Requests whose words are not indexed yet: a search for text may miss them. 0 without a text.
 */
unindexed: number, };

/**
 * Asks for a page.
 */
export type HistoryPageArgs = { 
/**
 * What to look for.
 */
filter: HistoryFilterView, 
/**
 * In which order.
 */
sort: HistorySort, 
/**
 * Cursor of the page before, of the same order; none for the first.
 */
after: HistoryCursor | null, };

/**
 * One line of the history.
 */
export type HistoryRow = { 
/**
 * `WORKSPACE/AGENT/ID`, or `rejected:N`: the identity of the row.
 */
key: string, 
/**
 * Order of arrival.
 */
seq: number, 
/**
 * Request id.
 */
requestId: string, 
/**
 * Workspace; empty where the subject gave none.
 */
workspace: string, 
/**
 * Agent; empty where the subject gave none.
 */
agent: string, 
/**
 * What was asked; none for what was rejected.
 */
kind: RequestKind | null, 
/**
 * The tool's name.
 */
tool: Shown | null, 
/**
 * What will happen, else the arguments that distinguish the call, or the question, on one line of at most 80
 * characters; none where the payload is gone or too large for a list.
 */
summary: Shown | null, 
/**
 * What the console found, the strongest alone, as kept with the decision.
 */
finding: FindingView | null, 
/**
 * Effective risk.
 */
risk: Risk, 
/**
 * Its state.
 */
state: CardState, 
/**
 * The verdict as it reads everywhere.
 */
verdict: Shown | null, 
/**
 * Who decided: `operator`, `rule`, `setup_key`, `timeout`, `agent`, `system`.
 */
origin: Shown | null, 
/**
 * Name of the operator or the console.
 */
by: Shown | null, 
/**
 * Whether this console's operator decided it.
 */
mine: boolean, 
/**
 * The agent's message.
 */
message: Shown | null, 
/**
 * The rule that decided.
 */
rule: Shown | null, 
/**
 * How far the decision came: the words of the command line contract.
 */
delivery: string, 
/**
 * Why it was rejected.
 */
errorCode: string | null, 
/**
 * The server's stamp of the stored request.
 */
storedMs: number, 
/**
 * When it was decided.
 */
decidedMs: number | null, };

/**
 * In which order; the newest first unless it says another one.
 */
export type HistorySort = { 
/**
 * The column.
 */
by: HistorySortBy, 
/**
 * The least first.
 */
ascending: boolean, };

/**
 * What the history can be sorted by: the columns that have an index.
 */
export type HistorySortBy = "stored" | "decided" | "risk";

/**
 * The state of a request: one state, or the several in which nothing is decided yet.
 */
export type HistoryState = "waiting" | CardState;

/**
 * An approval that is held and can be undone.
 */
export type HoldView = { 
/**
 * When it is signed and sent.
 */
releaseMs: number, };

/**
 * Changes in order. A page that has seen `number - 1` applies it; on a gap it asks for a snapshot.
 */
export type InboxBatch = { 
/**
 * One more than the batch before.
 */
number: number, 
/**
 * In the order in which they happened.
 */
changes: Array<InboxChange>, 
/**
 * Requests whose card, decision or delivery changed.
 */
touched: Array<DecidedNotice>, 
/**
 * The status, when it changed.
 */
status: StatusView | null, 
/**
 * The core could not say what changed: read a new snapshot.
 */
resync: boolean, 
/**
 * Somebody asked outside of the page to turn panic off: it asks once more.
 */
panicAsked: boolean, 
/**
 * The server's time.
 */
serverMs: number, };

/**
 * One change of the list.
 */
export type InboxChange = { "type": "put", 
/**
 * The row as it is now.
 */
row: InboxRow, } | { "type": "gone", 
/**
 * Its key.
 */
key: string, };

/**
 * What waits next, until the whole list is read.
 */
export type InboxFirst = { 
/**
 * By deadline, then arrival; at most 100.
 */
rows: Array<InboxRow>, };

/**
 * One line of the list.
 */
export type InboxRow = { 
/**
 * `WORKSPACE/AGENT/ID`: the identity of the row, whatever its place.
 */
key: string, 
/**
 * Order of arrival, the second sort key.
 */
seq: number, 
/**
 * What is asked.
 */
kind: RequestKind, 
/**
 * The tool's name; for a question or a form, its text or title.
 */
tool: Shown, 
/**
 * Effective risk.
 */
risk: Risk, 
/**
 * Which way an approval takes.
 */
path: DecidePath, 
/**
 * Key arguments, cut to one line; the card shows them whole.
 */
summary: Shown, 
/**
 * What will happen, in the console's own sentence; none where it cannot be sure.
 */
effect: Shown | null, 
/**
 * What the console finds, the strongest alone; none where nothing is found or it has not looked yet.
 */
finding: FindingView | null, 
/**
 * A second reader, a machine, marked it.
 */
byReader: boolean, 
/**
 * The agent's own words, cut to one line.
 */
says: Shown | null, 
/**
 * Workspace (a slug of the subject's grammar).
 */
workspace: string, 
/**
 * Agent (a slug of the subject's grammar).
 */
agent: string, 
/**
 * The agent's thread.
 */
thread: Shown | null, 
/**
 * The agent's run.
 */
run: Shown | null, 
/**
 * From here on no approval takes effect.
 */
deadlineMs: number, 
/**
 * False when the agent set no deadline and the longest lifetime applies.
 */
hasDeadline: boolean, 
/**
 * The server's stamp of the stored request.
 */
storedMs: number, 
/**
 * Its state: pending, holding or queued.
 */
state: CardState, 
/**
 * The card has a warning of weight.
 */
warned: boolean, 
/**
 * A person denied the same call before.
 */
deniedBefore: boolean, 
/**
 * How far the operators are, where several must agree.
 */
votes: VotesCount | null, };

/**
 * The whole list, and where in the order of batches it was read.
 */
export type InboxSnapshot = { 
/**
 * Every batch up to this number is contained.
 */
number: number, 
/**
 * All that waits, by deadline, then arrival.
 */
rows: Array<InboxRow>, 
/**
 * The server's time when it was read.
 */
serverMs: number, };

/**
 * One running copy of an agent.
 */
export type InstanceView = { 
/**
 * The agent's own word; empty for a copy that gives none.
 */
id: Shown, 
/**
 * When it was first heard.
 */
firstSeenMs: number, 
/**
 * When it was last heard.
 */
lastSeenMs: number, 
/**
 * Heard within the last 30 s.
 */
live: boolean, };

/**
 * A failed command.
 */
export type IpcError = { 
/**
 * What to branch on.
 */
code: IpcErrorCode, 
/**
 * What to show: it says what to do next, and holds no text of an agent that is not escaped.
 */
message: string, };

/**
 * Why a command failed: an error code of the command line contract, or what only a window can meet.
 */
export type IpcErrorCode = ErrorCode | WindowFault;

/**
 * Who joined, for the alarm that says so.
 */
export type JoinedView = { 
/**
 * The name that the list of operators has for the key.
 */
name: Shown, 
/**
 * Since when the key counts.
 */
fromMs: number, };

/**
 * Names one request or one rejected message.
 */
export type KeyArgs = { 
/**
 * `WORKSPACE/AGENT/ID`, or `rejected:N`.
 */
key: string, };

/**
 * What a signing key may sign.
 */
export type KeyRole = "human" | "auto" | "device";

/**
 * What led to a request: the trace until it was asked.
 */
export type LedHere = { 
/**
 * The last lines before the request, then the request; without the spans that hold it.
 */
lines: Array<TraceLine>, 
/**
 * Earlier lines that are left out.
 */
earlier: number, 
/**
 * Where the drawn time begins, after the trace's start.
 */
fromMs: number, 
/**
 * Where it ends.
 */
toMs: number, };

/**
 * What a line is about: a kind of span, or a request without a span.
 */
export type LineKind = "tool" | "llm" | "agent" | "subchat" | "chain" | "retriever" | "embedding" | "approval" | "request";

/**
 * The state of a line.
 */
export type LineLook = "running" | "waiting" | "ok" | "error" | "denied" | "timeout" | "cancelled" | "incomplete" | "unfinished" | "ended";

/**
 * What had to be repaired to draw a line.
 */
export type LineRepair = "parent_missing" | "parent_of_another_agent" | "loop" | "ends_before_start" | "too_deep";

/**
 * How long a line waited for a decision.
 */
export type LineWait = { 
/**
 * From when, after the trace's start.
 */
startMs: number, 
/**
 * Until when; until now where it still waits.
 */
endMs: number, 
/**
 * Who or what ended it; none while it waits.
 */
verdict: string | null, 
/**
 * `operator`, `rule`, `setup_key`, `timeout`, `agent`, `system`.
 */
origin: string | null, 
/**
 * Who, where somebody decided.
 */
by: Shown | null, };

/**
 * How the console logs in to the bus.
 */
export type LoginKind = "own_server" | "nkey" | "creds" | "url" | "none";

/**
 * A rule that matches.
 */
export type MatchedRule = { 
/**
 * Its id.
 */
id: string, 
/**
 * Its version.
 */
version: number, 
/**
 * Its name.
 */
name: Shown, 
/**
 * What it says.
 */
says: RuleEffect, 
/**
 * Why it asks instead of what it says otherwise.
 */
instead: Shown | null, };

/**
 * What happens now to a plain call of a tool at a risk.
 */
export type MatrixCell = { 
/**
 * What the set says of a call when only agent, tool and risk are known.
 */
outcome: RuleEffect, 
/**
 * The rule that says so.
 */
rule: string | null, 
/**
 * The agent's bypass says so.
 */
bypass: boolean, 
/**
 * How many operators it asks for.
 */
approvals: number, 
/**
 * Rules that could say something else, once the arguments, the thread or more are known.
 */
depends: Array<string>, 
/**
 * Why an approve does not count now.
 */
held: Shown | null, };

/**
 * A tool in the matrix.
 */
export type MatrixRow = { 
/**
 * Agent.
 */
agent: string, 
/**
 * Tool.
 */
tool: Shown, 
/**
 * The risk that its agent gives it; none when it says nothing.
 */
risk: Risk | null, 
/**
 * In the order of the columns.
 */
cells: Array<MatrixCell>, };

/**
 * Tools by risks.
 */
export type MatrixView = { 
/**
 * Which workspace.
 */
workspace: string, 
/**
 * Columns.
 */
risks: Array<Risk>, 
/**
 * By agent, then in the order of its hello; at most 500.
 */
rows: Array<MatrixRow>, 
/**
 * Tools that are left out.
 */
more: number, 
/**
 * Digest of the set in force.
 */
policyDigest: string, };

/**
 * A name that the agent gave to something.
 */
export type NamedId = { 
/**
 * `span`, `parent`, `run`, `thread`, `call`, `request`, `arguments`.
 */
name: string, 
/**
 * Its id.
 */
id: Shown, };

/**
 * The framework's own digest: kept and shown, not trusted.
 */
export type NativeDigest = { 
/**
 * Its algorithm, as the agent names it.
 */
alg: Shown, 
/**
 * Its value.
 */
value: Shown, };

/**
 * A rule that only one matcher kept from matching.
 */
export type NearRule = { 
/**
 * Its id.
 */
id: string, 
/**
 * Its version.
 */
version: number, 
/**
 * Its name.
 */
name: Shown, 
/**
 * What it would have said.
 */
effect: RuleEffect, 
/**
 * The one that failed, such as `risk`, `args./amount` or `critical_risk`.
 */
matcher: Shown, 
/**
 * Of a command: the part of it that the rule does not allow, as a sentence without its end.
 */
detail: Shown | null, };

/**
 * The argument of commands that take none.
 */
export type Nothing = Record<symbol, never>;

/**
 * Argument of `notify`.
 */
export type NotifyArgs = { 
/**
 * From now on.
 */
level: NotifyLevel, };

/**
 * What is worth a notification while the window is not in front. Alarms notify at every level but `off`.
 */
export type NotifyLevel = "all" | "urgent" | "off";

/**
 * A decision on the bus other than this console's: agents read this one.
 */
export type OnBusView = { 
/**
 * The verdict's word, as its payload says.
 */
verdict: Shown, 
/**
 * The name of who gave it, as its payload says.
 */
by: Shown, 
/**
 * Their words to the agent.
 */
message: Shown | null, 
/**
 * The server's stamp.
 */
atMs: number, 
/**
 * Sequence in the stream of decisions.
 */
streamSeq: number, };

/**
 * A key that the realm log has named, or that asks to be let in.
 */
export type OperatorLine = { 
/**
 * As it named itself, or as an operator named it.
 */
name: Shown, 
/**
 * The key.
 */
key: string, 
/**
 * What it may sign.
 */
role: KeyRole, 
/**
 * `in_force`, `waiting`, `ended`.
 */
state: string, 
/**
 * Whether its operator is an administrator.
 */
admin: boolean, 
/**
 * Since when; for a waiting key, when it asked. None of a newcomer who was turned away.
 */
fromMs: number | null, 
/**
 * Until when.
 */
untilMs: number | null, 
/**
 * Whether it is this console's.
 */
mine: boolean, 
/**
 * None: all.
 */
workspaces: Array<string> | null, 
/**
 * None: any.
 */
maxRisk: Risk | null, 
/**
 * The operator who let it in; none where nobody has.
 */
by: Shown | null, 
/**
 * No person let it in: the console of an administrator did.
 */
joined: boolean, 
/**
 * When its console was last heard, if it is there now.
 */
seenMs: number | null, };

/**
 * The operators of the realm.
 */
export type OperatorsView = { 
/**
 * In the order in which they came; none before the log was read.
 */
operators: Array<OperatorLine>, 
/**
 * Whether newcomers wait for a person.
 */
approval: boolean, 
/**
 * The server's time now.
 */
serverMs: number, };

/**
 * One option of a question.
 */
export type OptionView = { 
/**
 * What it is called.
 */
label: Shown, 
/**
 * What it means.
 */
description: Shown | null, };

/**
 * Where a request comes from.
 */
export type OriginView = { 
/**
 * Agent's clock, for display.
 */
requestedMs: number | null, 
/**
 * The framework and its version.
 */
source: Shown | null, 
/**
 * The agent's call.
 */
call: Shown | null, 
/**
 * The agent's trace.
 */
trace: Shown | null, 
/**
 * `sha256:…` of the arguments at the gate.
 */
argsDigest: string | null, 
/**
 * `sha256:…` of the payload as stored.
 */
requestDigest: string, 
/**
 * The framework's own digest.
 */
nativeDigest: NativeDigest | null, 
/**
 * Sequence in the stream of requests.
 */
streamSeq: number, };

/**
 * What is received and sent over OTLP.
 */
export type OtlpView = { 
/**
 * Where the receiver listens over HTTP; none when it does not.
 */
http: string | null, 
/**
 * The same over gRPC.
 */
grpc: string | null, 
/**
 * Whether it listens on other addresses than loopback.
 */
allowRemote: boolean, 
/**
 * Whether every sender needs a token.
 */
requireToken: boolean, 
/**
 * Where this console's answers are exported; none when they are not.
 */
export: string | null, };

/**
 * Asks for the numbers of a time.
 */
export type OverviewArgs = { 
/**
 * From when on.
 */
sinceMs: number, 
/**
 * Up to when.
 */
untilMs: number, 
/**
 * Pieces of the time for the chart, 1 to 400.
 */
pieces: number, 
/**
 * Only this workspace.
 */
workspace: string | null, 
/**
 * When the weeks begin that people are counted by, at most 60; the last one ends with the time.
 */
weeksMs: number[], };

/**
 * The numbers of a time.
 */
export type OverviewView = { 
/**
 * From when on.
 */
sinceMs: number, 
/**
 * Up to when.
 */
untilMs: number, 
/**
 * How long a piece of the time is; the last one may end later than the time.
 */
stepMs: number, 
/**
 * Oldest first, without gaps.
 */
volume: Array<VolumePiece>, 
/**
 * Most frequent first.
 */
verdicts: Array<VerdictCount>, 
/**
 * By agent and tool, most decisions first; at most 100.
 */
paces: Array<PaceView>, 
/**
 * Of all decisions of people together; none when there is none.
 */
pace: PaceView | null, 
/**
 * Half of the cards that were decided in this console's window were no longer in front and armed; none when
 * there is none.
 */
frontMs: number | null, 
/**
 * Requests of the time that still wait.
 */
open: number, 
/**
 * Ended without an answer.
 */
expired: number, 
/**
 * Answers whose delivery is overdue now, whenever they were given.
 */
stalled: number, 
/**
 * Decided by rules and setup keys.
 */
automatic: number, 
/**
 * Decided by people.
 */
human: number, 
/**
 * Of these, in this console's window.
 */
inWindow: number, 
/**
 * Of those in the window, in less time than it takes to read.
 */
hasty: number, 
/**
 * Of what people decided, what they did not approve as asked: edited, denied or terminated.
 */
caught: number, 
/**
 * The newest week first, in it the operator of this console.
 */
people: Array<PersonWeekView>, };

/**
 * A key of this console. Only its public half is ever shown.
 */
export type OwnKey = { 
/**
 * `human` signs what the operator decides, `auto` what the console decides without a person, `login` logs in to
 * the bus and signs nothing else.
 */
role: string, 
/**
 * The public key.
 */
key: string, };

/**
 * How long calls waited until people decided.
 */
export type PaceView = { 
/**
 * `WORKSPACE/AGENT`; none where the pairs of agent and tool are too many and counted together.
 */
agent: string | null, 
/**
 * The tool; none for questions and forms.
 */
tool: FilterValue | null, 
/**
 * Decisions of people.
 */
decided: number, 
/**
 * Half of them waited no longer.
 */
medianMs: number, 
/**
 * 95 of 100 waited no longer.
 */
p95Ms: number, };

/**
 * Turns every automatic approval in every console off, or lets them be given again.
 */
export type PanicArgs = { 
/**
 * From now on.
 */
on: boolean, 
/**
 * As in [`super::SaveRuleArgs`].
 */
acceptWaiting: Array<string>, };

/**
 * Why a piece of a value is marked.
 */
export type PartMark = { 
/**
 * Places in the card's findings; empty in a comparison.
 */
findings: Array<number>, 
/**
 * These are the letters concerned.
 */
letters: boolean, };

/**
 * A piece of what a span put out.
 */
export type PartView = { "type": "text", 
/**
 * The text, its beginning where it is long.
 */
text: Shown, 
/**
 * Bytes that are not shown; the bytes as received have them.
 */
cut: number, 
/**
 * What the framework did to it.
 */
shortened: ShortenedView | null, } | { "type": "value", 
/**
 * The value.
 */
entries: Array<ArgEntry>, 
/**
 * It is longer than is shown.
 */
cut: boolean, } | { "type": "image", 
/**
 * `image/png`, `image/jpeg`, `image/gif` or `image/webp`, as its first bytes say.
 */
mime: string, 
/**
 * Base64 of its bytes, encoded anew.
 */
data: string, 
/**
 * Pixels.
 */
width: number, 
/**
 * Pixels.
 */
height: number, } | { "type": "file", 
/**
 * What the agent calls it.
 */
mime: Shown, 
/**
 * Bytes.
 */
size: number, 
/**
 * Of its bytes, lowercase hex.
 */
sha256: string, } | { "type": "reference", 
/**
 * The agent's name for it.
 */
name: Shown, } | { "type": "wrong", 
/**
 * What the agent calls it.
 */
mime: Shown, 
/**
 * Why.
 */
why: string, };

/**
 * What one person did in one week, in every workspace.
 */
export type PersonWeekView = { 
/**
 * The name.
 */
name: Shown, 
/**
 * The public key.
 */
key: string, 
/**
 * The operator of this console.
 */
own: boolean, 
/**
 * When the week begins.
 */
sinceMs: number, 
/**
 * Decisions.
 */
decided: number, 
/**
 * Of these, denied or terminated.
 */
denied: number, 
/**
 * Of these, on this console's command line.
 */
byCli: number, 
/**
 * Of these, in this console's window.
 */
inWindow: number, 
/**
 * Of those in the window, in less time than it takes to read.
 */
hasty: number, 
/**
 * Half of those in the window were no longer in front and armed; none where there is none.
 */
frontMs: number | null, 
/**
 * Practice cards with a change that were answered.
 */
changed: number, 
/**
 * Of these, the change was caught.
 */
caught: number, };

/**
 * What came of a practice card.
 */
export type PracticeAnswer = { 
/**
 * The change was caught, or nothing was changed and nothing refused.
 */
right: boolean, 
/**
 * What was changed and whether it was caught, in one line.
 */
words: Shown, };

/**
 * The practice of one person.
 */
export type PracticePerson = { 
/**
 * The name.
 */
name: Shown, 
/**
 * The key.
 */
key: string, 
/**
 * Answered cards, unchanged ones too.
 */
shown: number, 
/**
 * Changes that were caught.
 */
caught: number, 
/**
 * Changes that were missed.
 */
missed: number, 
/**
 * Unchanged cards that were refused.
 */
falseAlarms: number, 
/**
 * How well changed and unchanged cards are distinguished; none of too few.
 */
dPrime: number | null, 
/**
 * Lower end of its 95 % interval.
 */
low: number | null, 
/**
 * Upper end.
 */
high: number | null, };

/**
 * The switch, and what people saw.
 */
export type PracticeView = { 
/**
 * Whether practice cards come.
 */
on: boolean, 
/**
 * About one card in this many is practice.
 */
oneIn: number, 
/**
 * Who answered a card, by name.
 */
operators: Array<PracticePerson>, };

/**
 * A call of the past.
 */
export type PreviewCase = { 
/**
 * Its line of the history.
 */
row: HistoryRow, 
/**
 * What the rule says.
 */
rule: RuleEffect, };

/**
 * Names a simulation.
 */
export type PreviewNumber = { 
/**
 * Its number.
 */
number: number, };

/**
 * What one rule would have done.
 */
export type PreviewReport = { 
/**
 * Requests that were looked at.
 */
total: number, 
/**
 * It would have let them run.
 */
approve: number, 
/**
 * It would have left them to people.
 */
ask: number, 
/**
 * It would have refused them.
 */
deny: number, 
/**
 * It says what a person said.
 */
agreed: number, 
/**
 * It would have approved what a person denied.
 */
denied: number, 
/**
 * It would have denied what a person approved.
 */
refused: number, 
/**
 * It would have approved what no person decided.
 */
unseen: number, 
/**
 * Of these, still waiting.
 */
waiting: number, 
/**
 * High risks that would have run though nobody had let them.
 */
newlyHigh: number, 
/**
 * Critical ones.
 */
newlyCritical: number, 
/**
 * It could not be read for sure.
 */
unsure: number, 
/**
 * The first reason for that.
 */
unsureWhy: Shown | null, 
/**
 * Where it differs from a person, a denied call first; at most 20.
 */
flips: Array<PreviewCase>, 
/**
 * High and critical calls that would have run though nobody had let them; at most 20.
 */
newly: Array<PreviewCase>, 
/**
 * The last calls that it matched; at most 10.
 */
samples: Array<PreviewCase>, };

/**
 * A simulation: how far it is, and what it found.
 */
export type PreviewView = { 
/**
 * Requests that were looked at.
 */
done: number, 
/**
 * Requests that there are.
 */
of: number, 
/**
 * None while it runs, or when it ended early.
 */
report: PreviewReport | null, 
/**
 * Why it ended early.
 */
trouble: string | null, };

/**
 * A question.
 */
export type QuestionView = { 
/**
 * What is asked.
 */
text: Shown, 
/**
 * What surrounds it.
 */
context: Shown | null, 
/**
 * What may be chosen.
 */
options: Array<OptionView>, 
/**
 * Whether an answer in own words is welcome.
 */
allowFreeform: boolean, };

/**
 * Asks for a part of the bytes of a request or of a rejected message.
 */
export type RawArgs = { 
/**
 * Which request or rejected message.
 */
key: string, 
/**
 * First byte.
 */
offset: number, };

/**
 * A part of the bytes as received, at most 64 KiB.
 */
export type RawChunk = { 
/**
 * First byte of this part.
 */
offset: number, 
/**
 * Bytes in all.
 */
total: number, 
/**
 * Where the next part begins; none at the end.
 */
next: number | null, 
/**
 * The part as text, escaped; bytes that are not UTF-8 appear as marks.
 */
text: Shown, 
/**
 * The part in hexadecimal, 32 bytes a line.
 */
hex: string, };

/**
 * The same call, decided before.
 */
export type ReAskView = { 
/**
 * `WORKSPACE/AGENT/ID`.
 */
key: string, 
/**
 * Its verdict.
 */
verdict: string, 
/**
 * Who decided it.
 */
by: Shown | null, 
/**
 * When.
 */
atMs: number, };

/**
 * A known program that can read.
 */
export type ReaderFound = { 
/**
 * Its word in the settings.
 */
name: string, 
/**
 * Its path or address; none where it was not found.
 */
place: string | null, 
/**
 * The host beyond this machine that gets arguments, whatever model is chosen.
 */
outside: string | null, 
/**
 * Its models; one must be chosen where there are some.
 */
models: Array<ReaderModel>, };

/**
 * What the reader, a machine, says of one place in the arguments.
 */
export type ReaderMarkView = { 
/**
 * JSON pointer.
 */
at: Shown, 
/**
 * A finding's word or `other`.
 */
code: string, 
/**
 * Its words, to be shown in quotes.
 */
message: Shown, 
/**
 * The value was edited since.
 */
edited: boolean, };

/**
 * A model of a program.
 */
export type ReaderModel = { 
/**
 * Its name.
 */
name: string, 
/**
 * The host beyond this machine that gets arguments with it.
 */
outside: string | null, };

/**
 * What came of the made-up cards.
 */
export type ReaderTried = { 
/**
 * Bad ones marked at the place.
 */
found: number, 
/**
 * Bad ones.
 */
of: number, 
/**
 * Good ones with a mark.
 */
falseMarks: number, 
/**
 * Good ones.
 */
ofGood: number, 
/**
 * Cards without an answer.
 */
failed: number, 
/**
 * Why the last of them has none.
 */
why: string | null, 
/**
 * Seconds of an answer, the middle.
 */
seconds: number | null, };

/**
 * Where arguments go, and what came of it.
 */
export type ReaderView = { 
/**
 * Where arguments of which workspaces go; none while no reader is on.
 */
sentence: string | null, 
/**
 * What is wrong with its settings; then it is off.
 */
fault: string | null, 
/**
 * Workspaces that agents of this console ask in.
 */
workspaces: Array<string>, 
/**
 * Calls that were sent.
 */
asked: number, 
/**
 * Calls without a valid answer.
 */
failed: number, 
/**
 * Calls that were never sent.
 */
skipped: number, 
/**
 * Calls that it marked.
 */
marked: number, 
/**
 * Those of them that people decided.
 */
markedDecided: number, 
/**
 * Those of them that people denied.
 */
markedDenied: number, 
/**
 * Of the newest 5,000 calls that people decided, those with a look of the console's own.
 */
looked: number, 
/**
 * Those of them that were denied.
 */
lookedDenied: number, 
/**
 * The word of the last failure.
 */
lastError: string | null, 
/**
 * Until when it rests after failures.
 */
restingMs: number | null, };

/**
 * The known programs.
 */
export type ReadersFound = { 
/**
 * Each of them, found or not.
 */
found: Array<ReaderFound>, };

/**
 * Calls an automatic decision wrong: what decided it is suspended.
 */
export type RegretArgs = { 
/**
 * Which request.
 */
key: string, 
/**
 * Why, at most 1,000 bytes.
 */
reason: string | null, 
/**
 * The operator was shown the calls that people denied and the rules would approve.
 */
acceptDenied: boolean, };

/**
 * What a regret came to: one of both.
 */
export type RegretOutcome = { 
/**
 * What was suspended.
 */
suspended: SuspendedView | null, 
/**
 * What people denied and the remaining rules would approve. Nothing was changed.
 */
denied: DeniedCalls | null, };

/**
 * A decision that a person called wrong.
 */
export type RegretView = { 
/**
 * `WORKSPACE/AGENT/ID` of the request.
 */
key: string, 
/**
 * The version that decided.
 */
version: number, 
/**
 * The operator's words.
 */
reason: Shown | null, 
/**
 * Who.
 */
by: Shown, 
/**
 * When; 0 where that cannot be read.
 */
atMs: number, };

/**
 * One rejected message whole.
 */
export type RejectedDetail = { 
/**
 * The row.
 */
row: RejectedRow, 
/**
 * Sequence in the stream of requests.
 */
streamSeq: number, 
/**
 * Whether the agent got verdict `rejected`.
 */
answered: boolean, 
/**
 * The first part of its bytes.
 */
raw: RawChunk, };

/**
 * A page of rejected messages, newest first.
 */
export type RejectedPage = { 
/**
 * The rows.
 */
rows: Array<RejectedRow>, 
/**
 * Cursor of the next page; none at the end.
 */
next: number | null, };

/**
 * Asks for a page of rejected messages.
 */
export type RejectedPageArgs = { 
/**
 * Cursor of the page before; none for the newest.
 */
before: number | null, };

/**
 * One rejected message in the list.
 */
export type RejectedRow = { 
/**
 * `WORKSPACE/AGENT/ID`, or `rejected:N` where the subject gives no valid id.
 */
key: string, 
/**
 * Why (protocol, section 2).
 */
code: string, 
/**
 * The NATS subject that it came on; none where it named no request.
 */
subject: Shown | null, 
/**
 * What exactly was wrong.
 */
detail: Shown, 
/**
 * When the server stored it.
 */
atMs: number, };

/**
 * Takes a rule away.
 */
export type RemoveRuleArgs = { 
/**
 * Its workspace.
 */
workspace: string, 
/**
 * Its id.
 */
id: string, 
/**
 * As in [`SaveRuleArgs`].
 */
acceptLimits: boolean, 
/**
 * As in [`SaveRuleArgs`].
 */
acceptDenied: boolean, 
/**
 * As in [`SaveRuleArgs`].
 */
acceptWaiting: Array<string>, };

/**
 * What became of a rule that was to be removed.
 */
export type RemovedRule = { 
/**
 * Nothing was removed: the operator is to be asked about these.
 */
denied: DeniedCalls | null, 
/**
 * The same.
 */
waiting: WaitingCalls | null, };

/**
 * What is asked.
 */
export type RequestKind = "tool_call" | "question" | "form";

/**
 * A request's whole story.
 */
export type RequestStoryView = { 
/**
 * The line of the history.
 */
row: HistoryRow, 
/**
 * What a person saw: words, arguments, warnings, what led here; none where the bytes cannot be read or are gone.
 */
card: Card | null, 
/**
 * `sha256:…` of the arguments at the gate.
 */
argsDigest: string | null, 
/**
 * `sha256:…` of the bytes as received.
 */
requestDigest: string, 
/**
 * Sequence in the stream of requests.
 */
requestSeq: number, 
/**
 * From here on no approval takes effect; none for what was rejected.
 */
deadlineMs: number | null, 
/**
 * The agent's clock.
 */
requestedMs: number | null, 
/**
 * When this console read it.
 */
receivedMs: number, 
/**
 * What exactly was wrong with a rejected message.
 */
errorDetail: Shown | null, 
/**
 * The first part of the bytes as received; `raw` gives the others. None once retention took them.
 */
raw: RawChunk | null, 
/**
 * When retention took the bytes away.
 */
removedMs: number | null, 
/**
 * The votes of several operators, as far as they may be shown.
 */
votes: Array<VoteView>, 
/**
 * The valid decision.
 */
decision: DecisionView | null, 
/**
 * Another decision on the bus.
 */
onBus: OnBusView | null, 
/**
 * The rule that decided.
 */
rule: RuleRef | null, 
/**
 * The signature under it.
 */
signature: SignatureView | null, 
/**
 * Stored, decided, on the bus, received, executed.
 */
ladder: Array<Rung>, 
/**
 * What the audit log says about it, oldest first; at most 200 rows.
 */
audit: Array<AuditRef>, 
/**
 * Traces that it belongs to: its own first, then those whose spans name it.
 */
traces: Array<string>, };

/**
 * A value that the key V opens; a critical call asks for all of them.
 */
export type Reveal = { 
/**
 * Number within the card.
 */
reveal: number, 
/**
 * Why.
 */
kind: RevealKind, 
/**
 * Its place in the arguments.
 */
place: Shown, };

/**
 * Asks for one of a card's reveals.
 */
export type RevealArgs = { 
/**
 * Which request.
 */
key: string, 
/**
 * Number of the reveal within the card.
 */
reveal: number, };

/**
 * Why a value is revealed by a key press.
 */
export type RevealKind = "secret" | "hidden_characters";

/**
 * A value that was hidden, or that holds hidden characters.
 */
export type Revealed = { 
/**
 * Number of the reveal within the card.
 */
reveal: number, 
/**
 * The value, escaped for showing.
 */
value: Shown, 
/**
 * The value as a JSON string literal in pure ASCII: every hidden character by its number.
 */
ascii: string, };

/**
 * How dangerous the agent says the call is; ordered.
 */
export type Risk = "safe" | "low" | "medium" | "high" | "critical";

/**
 * Names a rule.
 */
export type RuleArgs = { 
/**
 * Its workspace.
 */
workspace: string, 
/**
 * Its id.
 */
id: string, };

/**
 * What somebody did to a rule.
 */
export type RuleChangeKind = "made" | "known" | "changed" | "removed";

/**
 * One change of a rule.
 */
export type RuleChangeView = { 
/**
 * What somebody did.
 */
kind: RuleChangeKind, 
/**
 * The version that came of it.
 */
version: number, 
/**
 * Whether it acts from then on; none where that did not change.
 */
state: RuleState | null, 
/**
 * Other fields that changed.
 */
fields: Array<Shown>, 
/**
 * A decision of it was called wrong, which turned it off.
 */
regret: boolean, 
/**
 * Who: the name on the realm's list, or what the signer called itself.
 */
by: Shown, 
/**
 * End of the key that signed.
 */
keyTail: string, 
/**
 * When; 0 where that is unknown.
 */
atMs: number, };

/**
 * The changes of a rule.
 */
export type RuleChangesView = { 
/**
 * The newest first.
 */
changes: Array<RuleChangeView>, 
/**
 * Older ones are left out.
 */
more: boolean, };

/**
 * Whether a rule may be saved.
 */
export type RuleCheck = { 
/**
 * Empty when it may.
 */
problems: Array<RuleProblem>, 
/**
 * What it does; none while there are problems.
 */
effect: RuleEffect | null, 
/**
 * Whether it acts; none while there are problems.
 */
state: RuleState | null, };

/**
 * What a rule does with a request that it matches.
 */
export type RuleEffect = "approve" | "ask" | "deny";

/**
 * What is wrong with a rule, and where; lines and columns from 1.
 */
export type RuleProblem = { 
/**
 * Line.
 */
line: number, 
/**
 * Column, in characters.
 */
column: number, 
/**
 * Which field; empty for a text that is not TOML.
 */
place: Shown, 
/**
 * What is wrong.
 */
message: Shown, };

/**
 * The rule that decided, as the signed decision names it.
 */
export type RuleRef = { 
/**
 * Its id.
 */
id: Shown, 
/**
 * Its name in the set that was in force; none where that is not kept here, and of a setup key.
 */
name: Shown | null, 
/**
 * Its version.
 */
version: number | null, 
/**
 * Digest of the whole set of rules.
 */
policyDigest: Shown | null, };

/**
 * One rule in the list.
 */
export type RuleRow = { 
/**
 * `[a-z0-9-]{1,64}`.
 */
id: string, 
/**
 * For people.
 */
name: Shown, 
/**
 * What it does.
 */
effect: RuleEffect, 
/**
 * Ask: how many operators must agree.
 */
approvals: number | null, 
/**
 * Whether it acts.
 */
state: RuleState, 
/**
 * Grows with each change.
 */
version: number, 
/**
 * When this version was made; 0 where that is not known.
 */
sinceMs: number, 
/**
 * Tools and agents that it is about.
 */
about: Shown, 
/**
 * Requests that it decided.
 */
uses: number, 
/**
 * Of these, approved within the last 24 hours.
 */
today: number, 
/**
 * The last one.
 */
lastUsedMs: number | null, 
/**
 * Requests that it would have decided in the shadow.
 */
shadows: number, 
/**
 * Why it could not be read for sure the last time.
 */
lastError: Shown | null, 
/**
 * Decisions that people called wrong.
 */
regrets: number, 
/**
 * The last of them, the newest first; at most 20.
 */
lastRegrets: Array<RegretView>, 
/**
 * From here on it does nothing.
 */
expiresMs: number | null, 
/**
 * It ends with the threads that it names.
 */
thread: boolean, 
/**
 * `20 an hour`, `20 in 2h`.
 */
limit: string | null, };

/**
 * Whether a rule acts.
 */
export type RuleState = "on" | "off" | "shadow";

/**
 * A rule as the editor shows it.
 */
export type RuleText = { 
/**
 * Its id.
 */
id: string, 
/**
 * The version that this is; 0 for a draft.
 */
version: number, 
/**
 * The lines of a rule file below `[[rule]]`, in pure ASCII.
 */
text: string, };

/**
 * What can be written in a rule.
 */
export type RuleWords = { 
/**
 * Fields of a rule.
 */
fields: Array<string>, 
/**
 * Names of tests on an argument.
 */
tests: Array<string>, 
/**
 * What a condition can name.
 */
variables: Array<string>, 
/**
 * What a condition can call.
 */
functions: Array<string>, };

/**
 * Asks for a workspace's rules.
 */
export type RulesArgs = { 
/**
 * None is the first one that has any.
 */
workspace: string | null, };

/**
 * A workspace's rules.
 */
export type RulesView = { 
/**
 * Which workspace.
 */
workspace: string, 
/**
 * Every workspace that has rules or agents.
 */
workspaces: Array<string>, 
/**
 * Revision in the shared policy; 0 when there are none.
 */
revision: number, 
/**
 * Deny, ask, approve; within that by id.
 */
rules: Array<RuleRow>, 
/**
 * Server's time.
 */
serverMs: number, };

/**
 * One rung with its time.
 */
export type Rung = { 
/**
 * Which.
 */
rung: RungName, 
/**
 * Its state.
 */
state: RungState, 
/**
 * When it was reached, where known.
 */
atMs: number | null, 
/**
 * The receipt's words, or the stream sequence.
 */
detail: Shown | null, };

/**
 * A rung of the delivery ladder (protocol, section 6).
 */
export type RungName = "stored" | "decided" | "on_bus" | "received" | "executed";

/**
 * The state of a rung.
 */
export type RungState = "open" | "done" | "bad" | "forbidden" | "never" | "stalled";

/**
 * Saves a rule; it is on the bus when this returns.
 */
export type SaveRuleArgs = { 
/**
 * Where.
 */
workspace: string, 
/**
 * As in [`RuleText`].
 */
text: string, 
/**
 * Instead of what the text says.
 */
state: RuleState | null, 
/**
 * The version that was seen; none for a new rule.
 */
seenVersion: number | null, 
/**
 * The operator was asked once more. Needed to let a rule approve unless a whole simulation of these
 * very words found nothing that a person had denied.
 */
sure: boolean, 
/**
 * The operator has seen what the signer's limits change for other rules. Without it such a change is refused with
 * `verdict_not_allowed`.
 */
acceptLimits: boolean, 
/**
 * The operator was shown the calls that people denied and this change approves. Without it such a change is not
 * made.
 */
acceptDenied: boolean, 
/**
 * The waiting calls that the operator was shown and wants approved. Where this change approves others, it is not
 * made.
 */
acceptWaiting: Array<string>, 
/**
 * What was done on the call that [`SavedRule::steps`] named.
 */
steps?: StepsDone, };

/**
 * What became of a rule that was saved.
 */
export type SavedRule = { 
/**
 * Its id.
 */
id: string, 
/**
 * Its version now; none when it was not saved.
 */
version: number | null, 
/**
 * Nothing was saved: somebody else changed it meanwhile, and this is in force.
 */
conflict: RuleText | null, 
/**
 * Nothing was saved: somebody else removed it meanwhile.
 */
gone: boolean, 
/**
 * Nothing was saved: the operator is to be asked about these.
 */
denied: DeniedCalls | null, 
/**
 * The same.
 */
waiting: WaitingCalls | null, 
/**
 * Nothing was saved: it would approve calls like this critical or irreversible one, `WORKSPACE/AGENT/ID`, whose
 * steps come first.
 */
steps?: string, };

/**
 * A filter with a name.
 */
export type SavedSearch = { 
/**
 * Its name, 1 to 80 characters.
 */
name: string, 
/**
 * What it looks for.
 */
filter: HistoryFilterView, };

/**
 * The saved searches, in alphabetical order.
 */
export type SavedSearches = { 
/**
 * At most 200.
 */
searches: Array<SavedSearch>, };

/**
 * How far the operator meant it; informative.
 */
export type Scope = "once" | "session" | "always";

/**
 * Names one saved search.
 */
export type SearchName = { 
/**
 * Its name.
 */
name: string, };

/**
 * A piece of shown text.
 */
export type Segment = { "kind": "text", 
/**
 * The text.
 */
text: string, } | { "kind": "mark", 
/**
 * Its code point, such as `U+202E`, or its byte where it is not UTF-8, such as `0xFF`.
 */
code: string, 
/**
 * What it is called, where that helps.
 */
name?: string, };

/**
 * The server's time.
 */
export type ServerTime = { 
/**
 * Now.
 */
serverMs: number, };

/**
 * Turns practice on or off.
 */
export type SetPracticeArgs = { 
/**
 * Whether practice cards come.
 */
on: boolean, 
/**
 * About one card in this many is practice, 2 to 10,000.
 */
oneIn: number, };

/**
 * How this console was started.
 */
export type SettingsView = { 
/**
 * Whether the console runs its own server.
 */
ownServer: boolean, 
/**
 * How it logs in.
 */
login: LoginKind, 
/**
 * File with the authority that the server's certificate is checked by; none for the system's.
 */
tlsCa: string | null, 
/**
 * File with this console's own certificate.
 */
tlsCert: string | null, 
/**
 * Whether a bus without separate accounts was accepted.
 */
allowSingleAccount: boolean, 
/**
 * Display name.
 */
operator: Shown, 
/**
 * The workspace where a command takes one.
 */
workspace: string, 
/**
 * Workspaces that the window marks as production; none for those that call themselves so.
 */
production: Array<string> | null, 
/**
 * This console's id.
 */
console: string, 
/**
 * The bus's realm, once it was met.
 */
realm: string | null, 
/**
 * Its keys.
 */
keys: Array<OwnKey>, 
/**
 * Where their seeds are: `file`, `keychain`.
 */
keyPlace: string, 
/**
 * Why there.
 */
keyPlaceWhy: string, 
/**
 * Folders and files.
 */
folders: Array<FolderView>, 
/**
 * How long payloads are kept.
 */
retention: Array<StoreLimit>, 
/**
 * When the ladder raises an alarm.
 */
stalls: StallView, 
/**
 * More waiting requests than these from one agent are rejected.
 */
waitingLimit: number, 
/**
 * OTLP.
 */
otlp: OtlpView, 
/**
 * Where metrics are read; none when they are off.
 */
metrics: string | null, };

/**
 * Names an agent.
 */
export type SetupArgs = { 
/**
 * `WORKSPACE/AGENT`.
 */
agent: string, };

/**
 * When a key spares the question.
 */
export type SetupBinding = { 
/**
 * Calls do not ask while the key has this value.
 */
skipsWhen: Shown, 
/**
 * Whether that holds for critical calls too.
 */
critical: boolean, 
/**
 * Whether the key has this value now and that counts.
 */
spares: boolean, 
/**
 * Whether the agent declares the key otherwise than when it was bound: it asks until it is bound or set again.
 */
redeclared: boolean, 
/**
 * The operator's name.
 */
by: Shown, 
/**
 * When, by the operator's console.
 */
atMs: number | null, };

/**
 * The last change of a setup.
 */
export type SetupChanged = { 
/**
 * The operator's name.
 */
by: Shown, 
/**
 * When, by the operator's console.
 */
atMs: number | null, };

/**
 * A value that somebody chose.
 */
export type SetupChosen = { 
/**
 * The value as JSON in ASCII, indented; none where it looks like a secret: it can be replaced only.
 */
json: string | null, 
/**
 * False when the agent's declaration has changed and the value counts no more.
 */
fits: boolean, 
/**
 * The operator's name.
 */
by: Shown, 
/**
 * When, by the operator's console; none where that cannot be read.
 */
atMs: number | null, };

/**
 * What an agent says of its setup keys.
 */
export type SetupDeclared = { "type": "nothing" } | { "type": "wrong", 
/**
 * Why, each with its path.
 */
problems: Array<SetupProblem>, } | { "type": "keys", 
/**
 * Each with its value.
 */
keys: Array<SetupKeyView>, };

/**
 * One change of a setup.
 */
export type SetupEdit = { "type": "set", 
/**
 * The key's name.
 */
key: string, 
/**
 * The value as JSON; none goes back to the default.
 */
json: string | null, } | { "type": "bind", 
/**
 * Which key.
 */
key: string, 
/**
 * That value as JSON.
 */
json: string, 
/**
 * For critical calls too.
 */
critical: boolean, } | { "type": "unbind", 
/**
 * Which key.
 */
key: string, };

/**
 * What the objects of a list hold.
 */
export type SetupElement = { 
/**
 * Its name: letters, digits and `_`.
 */
name: string, 
/**
 * Its type.
 */
kind: SetupType, 
/**
 * What it does, in the agent's words.
 */
description: Shown | null, };

/**
 * One agent's setup.
 */
export type SetupForm = { 
/**
 * `WORKSPACE/AGENT`.
 */
key: string, 
/**
 * Workspace.
 */
workspace: string, 
/**
 * Agent.
 */
agent: string, 
/**
 * Its revision on the bus; 0 while nobody has set anything.
 */
revision: number, 
/**
 * False when the value on the bus does not verify or cannot be read: no key spares a question.
 */
readable: boolean, 
/**
 * What the agent declares.
 */
declared: SetupDeclared, 
/**
 * What was set for anything else.
 */
leftovers: Array<SetupLeftover>, 
/**
 * Who changed it last.
 */
changed: SetupChanged | null, };

/**
 * A declared key and its value.
 */
export type SetupKeyView = { 
/**
 * Its name: letters, digits and `_`.
 */
key: string, 
/**
 * Its type.
 */
kind: SetupType, 
/**
 * What it belongs to.
 */
group: Shown | null, 
/**
 * What it does, in the agent's words.
 */
description: Shown | null, 
/**
 * What an empty field shows.
 */
placeholder: Shown | null, 
/**
 * How important it is, in the agent's word.
 */
importance: Shown | null, 
/**
 * What the objects of a list hold; empty where they may hold anything.
 */
elements: Array<SetupElement>, 
/**
 * Its name says that the value is a secret.
 */
secret: boolean, 
/**
 * Its value where nobody chose one: a text as it is, anything else as JSON.
 */
default: Shown, 
/**
 * The value in force.
 */
value: Shown, 
/**
 * What somebody chose; none where the default counts.
 */
chosen: SetupChosen | null, 
/**
 * When it spares the question; none where it always asks.
 */
bound: SetupBinding | null, };

/**
 * Something that was set for a key which the agent does not declare, or no longer.
 */
export type SetupLeftover = { 
/**
 * The key, for taking it away.
 */
key: string, 
/**
 * The same, for showing it.
 */
name: Shown, 
/**
 * Its value, which counts for nothing.
 */
value: Shown | null, 
/**
 * Its binding, which spares no question.
 */
bound: SetupBinding | null, };

/**
 * One agent in the list of setups.
 */
export type SetupLineView = { 
/**
 * `WORKSPACE/AGENT`.
 */
key: string, 
/**
 * Workspace.
 */
workspace: string, 
/**
 * Agent.
 */
agent: string, 
/**
 * How many keys it declares; none when its declaration cannot be used.
 */
keys: number | null, 
/**
 * How many of them have a value that somebody chose.
 */
chosen: number, 
/**
 * How many of them spare a question at some value.
 */
bound: number, };

/**
 * Every known agent, by name.
 */
export type SetupLines = { 
/**
 * One line each.
 */
agents: Array<SetupLineView>, };

/**
 * Something that is wrong, and where.
 */
export type SetupProblem = { 
/**
 * The key that it is about; none for a declaration.
 */
key: string | null, 
/**
 * `rows[0].name`.
 */
path: Shown, 
/**
 * What is wrong.
 */
message: Shown, };

/**
 * What the setup says about the key that the request names.
 */
export type SetupReasonView = { 
/**
 * The key.
 */
key: Shown, 
/**
 * `undeclared`, `unbound`, `differs`, `redeclared`, `not_covered` or `passes`.
 */
state: string, 
/**
 * Its value.
 */
value: Shown | null, 
/**
 * The value that spares the question.
 */
skipsWhen: Shown | null, };

/**
 * Several changes of one setup: all or none.
 */
export type SetupSaveArgs = { 
/**
 * `WORKSPACE/AGENT`.
 */
agent: string, 
/**
 * The revision of the form that the person saw.
 */
revision: number, 
/**
 * The changes.
 */
edits: Array<SetupEdit>, };

/**
 * What became of them.
 */
export type SetupSaved = { "type": "stored", 
/**
 * As it is now.
 */
form: SetupForm, } | { "type": "conflict", 
/**
 * As it is now.
 */
form: SetupForm, } | { "type": "refused", 
/**
 * What is wrong.
 */
problems: Array<SetupProblem>, };

/**
 * What a value may be.
 */
export type SetupType = "string_short" | "string_long" | "string_multiline" | "bool" | "int" | "float" | "list_dict";

/**
 * A mark that a framework left on a text that it shortened.
 */
export type ShortenedView = { "type": "compressed", 
/**
 * From so many characters.
 */
from: number, } | { "type": "truncated", 
/**
 * From so many characters.
 */
from: number, };

/**
 * Text that is safe to show, in order.
 */
export type Shown = Array<Segment>;

/**
 * Who signed the stored decision, and what over.
 */
export type SignatureView = { 
/**
 * Public key; none where it is unsigned.
 */
key: Shown | null, 
/**
 * The signature, base64url.
 */
sig: Shown | null, 
/**
 * Why it does not verify; none when it does.
 */
fault: string | null, 
/**
 * Sequence in the stream of decisions.
 */
streamSeq: number, 
/**
 * When the server stored it.
 */
storedMs: number, 
/**
 * The signed bytes.
 */
payload: RawChunk, };

/**
 * Names a span.
 */
export type SpanArgs = { 
/**
 * Its number.
 */
span: number, };

/**
 * What went wrong in a span.
 */
export type SpanFault = { 
/**
 * What kind.
 */
kind: SpanFaultKind, 
/**
 * The framework's code.
 */
code: Shown | null, 
/**
 * The framework's name of the error.
 */
errorType: Shown | null, 
/**
 * The agent's words.
 */
message: Shown | null, 
/**
 * Credentials that are missing.
 */
missingKeys: Array<Shown>, 
/**
 * The tool that was called wrongly.
 */
tool: Shown | null, 
/**
 * The argument that is wrong.
 */
param: Shown | null, 
/**
 * What is wrong with it.
 */
issue: Shown | null, 
/**
 * What the framework proposes.
 */
suggestion: Shown | null, };

/**
 * What kind of failure it was.
 */
export type SpanFaultKind = "credential" | "balance" | "tool" | "tool_timeout" | "validation" | "other";

/**
 * One span whole.
 */
export type SpanView = { 
/**
 * `span:N`, which `span_raw` takes.
 */
key: string, 
/**
 * What it is called.
 */
name: Shown, 
/**
 * `WORKSPACE/AGENT` that wrote it.
 */
agent: string, 
/**
 * The protocol's word for its state.
 */
status: string | null, 
/**
 * The tool.
 */
tool: Shown | null, 
/**
 * By the agent's clock.
 */
startedMs: number, 
/**
 * Ids that the agent gave.
 */
ids: Array<NamedId>, 
/**
 * What went in.
 */
input: Array<ArgEntry>, 
/**
 * What went in is longer than is shown.
 */
inputCut: boolean, 
/**
 * What came out.
 */
output: Array<PartView>, 
/**
 * What it made.
 */
artifacts: Array<ArtifactView>, 
/**
 * What went wrong.
 */
fault: SpanFault | null, 
/**
 * The calls of a chain, where its record lists them.
 */
chain: Array<ChainCall>, 
/**
 * What it used alone.
 */
usage: UsageView | null, 
/**
 * Attributes in the framework's names.
 */
attributes: Array<ArgEntry>, 
/**
 * There are more than are shown.
 */
attributesCut: boolean, };

/**
 * How long a step of the delivery ladder may take before it is an alarm, in seconds.
 */
export type StallView = { 
/**
 * From signed to stored on the bus.
 */
onBusS: number, 
/**
 * From stored on the bus to received, while the agent is heard.
 */
receivedS: number, 
/**
 * From received to executed.
 */
executedS: number, };

/**
 * Starts a simulation of one rule alone; one that runs ends.
 */
export type StartPreviewArgs = { 
/**
 * Where.
 */
workspace: string, 
/**
 * As in [`RuleText`].
 */
text: string, 
/**
 * How far back; 0 is everything.
 */
days: number, };

/**
 * What the status bar shows.
 */
export type StatusView = { 
/**
 * The bus.
 */
bus: BusView, 
/**
 * Everything stored at connect has been read; nothing is shown as pending before.
 */
caughtUp: boolean, 
/**
 * Messages in the streams that are not read yet.
 */
lag: number, 
/**
 * Requests that wait.
 */
waiting: number, 
/**
 * Rejected messages.
 */
rejected: number, 
/**
 * Decisions on their way to the bus.
 */
outbox: number, 
/**
 * Agents that were heard of.
 */
agents: number, 
/**
 * Who turned every automatic approval off; none while panic is off.
 */
panic: Shown | null, 
/**
 * Agents that are paused or stopped.
 */
brakes: Array<ControlView>, 
/**
 * Agents whose calls need not ask for a while.
 */
bypasses: Array<BypassView>, 
/**
 * Rules that approve now, in all workspaces; none under panic.
 */
rulesApproving: number, 
/**
 * Open alarms.
 */
alarms: Array<AlarmView>, 
/**
 * Where arguments of which workspaces go, while a second reader is on.
 */
reader: string | null, 
/**
 * The desktop session is locked: nothing on the page is armed.
 */
locked: boolean, 
/**
 * Why no decision is taken at the moment; none when decisions are taken.
 */
readOnly: string | null, 
/**
 * Name of the operator at this console.
 */
operator: Shown, 
/**
 * Last characters of the operator's public key.
 */
operatorKeyTail: string, 
/**
 * The audit chain.
 */
audit: AuditView, };

/**
 * The steps of a critical or irreversible call, as before its approval.
 */
export type StepsDone = { 
/**
 * `WORKSPACE/AGENT/ID`.
 */
key: string, 
/**
 * Digest of the payload that was shown.
 */
seenRequestDigest: string, 
/**
 * The typed target.
 */
typed: string | null, 
/**
 * The reveals that were opened.
 */
revealed: Array<number>, };

/**
 * How long payloads of one kind are kept.
 */
export type StoreLimit = { 
/**
 * `requests`, `receipts`, `quarantine`.
 */
kind: string, 
/**
 * None: for ever.
 */
days: number | null, 
/**
 * None: whatever they take.
 */
mib: number | null, };

/**
 * A rule that would have said what people said. It is stored nowhere.
 */
export type SuggestionView = { 
/**
 * The same for the same calls, whenever they are suggested.
 */
id: string, 
/**
 * For people.
 */
name: Shown, 
/**
 * Tool and agent.
 */
about: Shown, 
/**
 * The arguments that it names, on one line; the rule has the whole.
 */
args: Shown, 
/**
 * Approvals that it covers; nobody denied such a call.
 */
approvals: number, 
/**
 * Who gave them.
 */
operators: Array<Shown>, 
/**
 * The first of them.
 */
firstMs: number, 
/**
 * The last of them.
 */
lastMs: number, 
/**
 * The rule, in the shadow.
 */
rule: RuleText, 
/**
 * Somebody at this console wants to hear no more of it.
 */
dismissed: boolean, };

/**
 * Asks what is suggested in a workspace.
 */
export type SuggestionsArgs = { 
/**
 * Which one.
 */
workspace: string, };

/**
 * What is suggested, or how far the search for it is.
 */
export type SuggestionsView = { 
/**
 * False while people's decisions are still read: ask again.
 */
ready: boolean, 
/**
 * Decisions that were read.
 */
looked: number, 
/**
 * Why nothing was found out.
 */
trouble: string | null, 
/**
 * The one with most approvals first; those that were dismissed, too.
 */
suggestions: Array<SuggestionView>, 
/**
 * So many like approvals make a suggestion.
 */
approvalsMin: number, 
/**
 * Within so many days.
 */
windowDays: number, };

/**
 * What was suspended; it is on the bus.
 */
export type SuspendedView = { 
/**
 * `rule`, `setup_key` or `bypass`.
 */
what: string, 
/**
 * The rule's id or the setup key.
 */
id: Shown, };

/**
 * Since when the day counts.
 */
export type TodayArgs = { 
/**
 * Midnight where the operator is, which only the page knows.
 */
sinceMs: number, };

/**
 * What people decided today.
 */
export type TodayView = { 
/**
 * Decisions.
 */
decided: number, 
/**
 * Half of the requests waited no longer; none when there is none.
 */
waitingMs: number | null, 
/**
 * Half of the cards that were decided in this console's window were no longer in front and armed; none when
 * there is none.
 */
frontMs: number | null, 
/**
 * No more requests than these are looked at, the newest that people decided.
 */
newest: number, };

/**
 * The agent's calls of the tool, of the 90 days before the request. All zero where nothing is known, and for anything
 * but a tool call.
 */
export type ToolRecordView = { 
/**
 * Approved, as they were or edited.
 */
approved: number, 
/**
 * Denied, skipped or terminated.
 */
denied: number, 
/**
 * Ended without an answer.
 */
expired: number, 
/**
 * Withdrawn, answered in words, handed on or void.
 */
other: number, 
/**
 * Of all these, decided by rules and setup keys.
 */
automatic: number, 
/**
 * Half of the people's decisions took no longer; none when no person decided.
 */
medianMs: number | null, 
/**
 * There may be more of them: only those among the newest so many calls of the tool, and as many of the
 * agent, are counted. None where all of them are.
 */
newest: number | null, };

/**
 * What is typed before a critical call of a tool is approved.
 */
export type ToolTarget = { 
/**
 * The argument that an operator chose: a JSON pointer. None for the tool's name.
 */
pointer: string | null, 
/**
 * Pointers to plain values of its schema.
 */
offered: Array<string>, };

/**
 * The tool that wants to run.
 */
export type ToolView = { 
/**
 * Its name.
 */
name: Shown, 
/**
 * What it says it does: the agent's words.
 */
description: Shown | null, 
/**
 * Where its name lives.
 */
namespace: Shown | null, 
/**
 * Where it comes from.
 */
origin: Shown | null, 
/**
 * What it says it does to the world.
 */
effects: Shown | null, };

/**
 * Names a trace: `trace:N`, `WORKSPACE/AGENT/ID` of a request in it, or what a person typed: a trace
 * id or a request id.
 */
export type TraceArgs = { 
/**
 * The name.
 */
key: string, };

/**
 * One line of the call tree.
 */
export type TraceLine = { 
/**
 * Number of the span; none for a request without a span.
 */
span: number | null, 
/**
 * `WORKSPACE/AGENT/ID` of the request that it waited for.
 */
request: string | null, 
/**
 * Place of its parent in the list.
 */
parent: number | null, 
/**
 * 0 for a root.
 */
depth: number, 
/**
 * Who wrote it: a place in the trace's list.
 */
agent: number, 
/**
 * What it is about.
 */
kind: LineKind, 
/**
 * What it is called, its beginning only.
 */
name: Shown, 
/**
 * From when, after the trace's start.
 */
startMs: number, 
/**
 * Until when; none while it goes on, or where its end is unknown.
 */
endMs: number | null, 
/**
 * Its state.
 */
look: LineLook, 
/**
 * The code of its error.
 */
code: Shown | null, 
/**
 * The wait for a decision in it.
 */
wait: LineWait | null, 
/**
 * What was repaired.
 */
repairs: Array<LineRepair>, 
/**
 * With all below it; none where nothing is said.
 */
usage: UsageView | null, 
/**
 * Its output was compressed or truncated by the framework.
 */
shortened: boolean, 
/**
 * How many artifacts it names.
 */
artifacts: number, 
/**
 * Subchats right below it that go on.
 */
subchats: number, };

/**
 * A trace in the list.
 */
export type TraceRow = { 
/**
 * `trace:N`.
 */
key: string, 
/**
 * Name of its first root, else of its first span.
 */
name: Shown, 
/**
 * `WORKSPACE/AGENT` of those who wrote in it.
 */
agents: Array<string>, 
/**
 * First start, by the agents' clocks.
 */
startedMs: number, 
/**
 * Last known time, by the agents' clocks.
 */
lastMs: number, 
/**
 * Spans that were counted.
 */
spans: number, 
/**
 * There are more than were counted; the other figures are of those counted.
 */
longer: boolean, 
/**
 * Spans that have not ended.
 */
open: number, 
/**
 * Spans that failed.
 */
failed: number, 
/**
 * Requests that wait for a decision.
 */
waiting: number, };

/**
 * A trace as far as this console knows it.
 */
export type TraceTree = { 
/**
 * The agents' trace id.
 */
trace: Shown, 
/**
 * `WORKSPACE/AGENT` of those who wrote in it; lines name them by their place here.
 */
agents: Array<string>, 
/**
 * Each parent before its children.
 */
lines: Array<TraceLine>, 
/**
 * First start; the agents' clocks, and the server's for requests.
 */
startMs: number, 
/**
 * From the first start to the last end, or to now where something goes on.
 */
durationMs: number, 
/**
 * How much of it something waited for a decision; overlapping waits count once.
 */
waitingMs: number, 
/**
 * More spans or requests are stored than are listed: the earliest are.
 */
truncated: boolean, 
/**
 * Not every span was read for figures, errors and marks: there are too many bytes.
 */
partlyRead: boolean, };

/**
 * A page of traces, the one last written to first.
 */
export type TracesPage = { 
/**
 * The traces.
 */
rows: Array<TraceRow>, 
/**
 * Cursor of the next page; none at the end.
 */
next: number | null, };

/**
 * Asks for a page of traces.
 */
export type TracesPageArgs = { 
/**
 * Cursor of the page before; none for what was last written to.
 */
before: number | null, };

/**
 * What is typed on the critical way before anything runs.
 */
export type TypedTarget = { 
/**
 * The text. None where it holds characters that cannot be typed, and then nothing can be approved.
 */
text: string | null, 
/**
 * The argument that it is the value of: a JSON pointer that an operator chose. None for the tool's name.
 */
pointer: Shown | null, };

/**
 * What was used, by a span and all below it; zero where nobody says.
 */
export type UsageView = { 
/**
 * Tokens that were charged for.
 */
tokensCharged: number, 
/**
 * Time, in milliseconds.
 */
executionTimeMs: number, 
/**
 * Tokens read.
 */
inputTokens: number, 
/**
 * Tokens written.
 */
outputTokens: number, 
/**
 * Price, in US dollars.
 */
costUsd: number, };

/**
 * Switches a known program on.
 */
export type UseReaderArgs = { 
/**
 * Its word.
 */
name: string, 
/**
 * Whose calls it reads.
 */
workspaces: Array<string>, 
/**
 * Which model.
 */
model: string | null, 
/**
 * The host that was typed, where arguments leave this machine.
 */
typed: string, };

/**
 * What an operator can answer.
 */
export type Verdict = "approve" | "modify" | "deny" | "skip" | "respond" | "escalate" | "terminate";

/**
 * How often a verdict was given.
 */
export type VerdictCount = { 
/**
 * The verdict.
 */
verdict: FilterValue, 
/**
 * How often.
 */
count: number, };

/**
 * How many requests came in a piece of time, by what became of them.
 */
export type VolumePiece = { 
/**
 * When it begins.
 */
startMs: number, 
/**
 * All of them.
 */
arrived: number, 
/**
 * Approved, as they were or edited.
 */
allowed: number, 
/**
 * Denied or terminated.
 */
denied: number, 
/**
 * Ended without an answer.
 */
expired: number, };

/**
 * A vote of one operator on a request that several must agree on.
 */
export type VoteView = { 
/**
 * Name of the operator; none while it may not be shown: the second approver must not see the first verdict.
 */
by: Shown | null, 
/**
 * Last characters of the key.
 */
keyTail: string | null, 
/**
 * `approve` or `modify`.
 */
verdict: Shown | null, 
/**
 * When it was stored.
 */
atMs: number | null, 
/**
 * Whether it counts; none while that is unknown or may not be shown.
 */
stands: boolean | null, 
/**
 * Whether this console's operator gave it.
 */
mine: boolean, };

/**
 * How many operators have agreed.
 */
export type VotesCount = { 
/**
 * How many must agree, 2 to 5.
 */
required: number, 
/**
 * How many agree, with keys that count now.
 */
given: number, 
/**
 * How many more count, but for something else; 0 for who has yet to vote.
 */
apart: number, 
/**
 * Whether the operator of this console has voted, with the key that signs now.
 */
mine: boolean, };

/**
 * The votes on a request that needs several.
 */
export type VotesView = { 
/**
 * How many.
 */
count: VotesCount, 
/**
 * Which, in the order of the stream.
 */
votes: Array<BallotView>, };

/**
 * Waiting calls that a change would approve at once. Nothing was changed.
 */
export type WaitingCalls = { 
/**
 * All of them, `WORKSPACE/AGENT/ID`: what the operator then accepts.
 */
keys: Array<string>, 
/**
 * Those that wait longest; at most 20.
 */
calls: Array<PreviewCase>, };

/**
 * A reason to look twice.
 */
export type WarningView = { 
/**
 * What kind.
 */
code: string, 
/**
 * Where it was found.
 */
place: Shown, 
/**
 * What it means.
 */
message: Shown, 
/**
 * `WORKSPACE/AGENT/ID` of the earlier call that it is about.
 */
request: string | null, };

/**
 * What decided automatically.
 */
export type WhyDecided = { 
/**
 * `rule`, `setup_key` or another word of the protocol.
 */
origin: Shown, 
/**
 * The rule, or the setup key.
 */
rule: Shown | null, 
/**
 * Its version.
 */
version: number | null, 
/**
 * Digest of the set that was in force.
 */
policyDigest: Shown | null, 
/**
 * The rule's words in that set; none where another console decided and its set is not kept here.
 */
words: Shown | null, };

/**
 * What the rules in force say now.
 */
export type WhyNow = { 
/**
 * Digest of the set in force.
 */
policyDigest: string, 
/**
 * What the set says.
 */
outcome: RuleEffect, 
/**
 * The rule that says so; none when nothing matched.
 */
rule: string | null, 
/**
 * How many operators it asks for.
 */
approvals: number, 
/**
 * Why an approve does not count now.
 */
held: Shown | null, 
/**
 * Every rule that matches.
 */
matched: Array<MatchedRule>, 
/**
 * Every rule that nearly did.
 */
near: Array<NearRule>, 
/**
 * What the setup says, where the request names a key.
 */
setup: SetupReasonView | null, };

/**
 * Why a request asks or was decided.
 */
export type WhyView = { 
/**
 * By the rules in force now; none without rules and setup keys.
 */
now: WhyNow | null, 
/**
 * What decided it, where no person did.
 */
decided: WhyDecided | null, };

/**
 * What only a window can meet.
 */
export type WindowFault = "not_armed" | "ipc_lost";
