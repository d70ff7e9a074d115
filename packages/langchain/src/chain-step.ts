import { type AgentStepKind, fieldsOf } from '@agentlightning/core/adapter';
import { textOf } from './framework-value.ts';
import type { RunOrigin } from './run-attributes.ts';

/** A run of a chain: a graph, a node of one, or a runnable. */
export interface ChainRun extends RunOrigin {
  readonly runType: string | undefined;
}

/** What is known of the run that another one is made in. */
export interface RunSurroundings {
  /** The name of the tool; null when it is none. */
  readonly tool: string | null;
  /** The name that LangChain says its agent was made with; null when it says none. */
  readonly madeAs: string | null;
}

/** What a run of a chain is in the trace. */
export interface ChainStep {
  readonly kind: Extract<AgentStepKind, 'agent' | 'step'>;
  readonly name: string;
  readonly isHidden: boolean;
}

const agentClasses = new Set([
  'CompiledStateGraph',
  'CompiledGraph',
  'Pregel',
  'LangGraph',
  'RemoteGraph',
  'AgentExecutor',
]);
/** The name of a graph that its author did not name. */
const unnamedGraph = 'LangGraph';

/**
 * What a run is: graphs are agents, their nodes and tasks are steps, and so are the outermost chain and those that
 * somebody gave a name. Everything else is glue.
 */
export function chainStepOf(run: ChainRun, within: RunSurroundings): ChainStep {
  const className = classOf(run.serialized);
  const name = nameOf(run);
  if (isGraph(run.serialized) || agentClasses.has(className))
    return { kind: 'agent', name: agentNameOf(run, name, within), isHidden: false };
  return { kind: 'step', name, isHidden: isGlue(run, name, className) };
}

/** Whether a run is that of a graph's node, or of a task of a functional workflow. */
export function isNode({ tags, metadata, runName }: RunOrigin): boolean {
  return metadata?.langgraph_node === runName && (tags ?? []).some((tag) => /^graph:step:\d+$/.test(tag));
}

/** The names that the user gave the agent of a run, and of those around it, which LangChain hands down: by metadata, by tags. */
export function agentHintsOf({ tags = [], metadata }: RunOrigin): readonly string[] {
  const named = tags.filter((tag) => tag.startsWith('agl:agent=')).map((tag) => tag.slice('agl:agent='.length));
  return [metadata?.agl_agent, ...named].map(textOf).filter((hint) => hint !== null);
}

/** What a run is called: by its user, or else by its class. */
export function nameOf({ runName, serialized }: RunOrigin): string {
  return textOf(runName) ?? classOf(serialized);
}

/** Whether a graph runs, by the namespace of its class: minifiers rename classes. */
function isGraph(serialized: unknown): boolean {
  const { id } = fieldsOf(serialized);
  return Array.isArray(id) && id[0] === 'langgraph' && id[1] === 'pregel';
}

/** The class of what runs. */
function classOf(serialized: unknown): string {
  const { id, name } = fieldsOf(serialized);
  return textOf(name) ?? (Array.isArray(id) ? String(id.at(-1)) : 'Runnable');
}

/** The name that LangChain says the agent of a run was made with, or else an agent around it; null when it says none. */
export function madeAs({ metadata }: RunOrigin): string | null {
  return textOf(metadata?.lc_agent_name);
}

/**
 * The name that an agent was made with, whatever this one run of it is called. A graph without a name of its own is known
 * by the tool or node that it works for.
 */
function agentNameOf(run: RunOrigin, name: string, within: RunSurroundings): string {
  const own = madeAs(run);
  if (own !== null && own !== within.madeAs) return own;
  if (name !== unnamedGraph || run.parentRunId === undefined) return name;
  return within.tool ?? textOf(run.metadata?.langgraph_node) ?? name;
}

function isGlue(run: ChainRun, name: string, className: string): boolean {
  if ((run.tags ?? []).includes('langsmith:hidden')) return true;
  if (isNode(run) || run.parentRunId === undefined) return false;
  const isInner = run.runType === 'prompt' || run.runType === 'parser';
  return isInner || name === className || /^(Runnable\w*$|(Channel(Write|Read)|Branch)<)/.test(name);
}
