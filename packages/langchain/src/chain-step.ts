import { type AgentStepKind, fieldsOf } from '@agentlightning/core/adapter';
import { textOf } from './framework-value.ts';
import type { RunOrigin } from './run-attributes.ts';

/** A run of a chain: a graph, a node of one, or a runnable. */
export interface ChainRun extends RunOrigin {
  readonly runType: string | undefined;
}

/** What a run of a chain is in the trace. */
export interface ChainStep {
  readonly kind: Extract<AgentStepKind, 'agent' | 'step'>;
  readonly name: string;
  readonly isHidden: boolean;
}

const graphClasses = new Set(['CompiledStateGraph', 'CompiledGraph', 'Pregel', 'LangGraph', 'RemoteGraph']);
const agentClasses = new Set([...graphClasses, 'AgentExecutor']);
/** The name of a graph that its author did not name. */
const unnamedGraph = 'LangGraph';

/**
 * What a run is: graphs are agents, their nodes and tasks are steps, and so are the outermost chain and those that
 * somebody gave a name. Everything else is glue.
 *
 * @param within - the name of the tool that the run is made in; null when it is made in none
 */
export function chainStepOf(run: ChainRun, within: string | null): ChainStep {
  const className = classOf(run.serialized);
  const name = nameOf(run);
  if (agentClasses.has(className)) return { kind: 'agent', name: agentNameOf(run, name, within), isHidden: false };
  return { kind: 'step', name, isHidden: isGlue(run, name, className) };
}

/** Whether a run is that of a graph's node, or of a task of a functional workflow. */
export function isNode({ tags, metadata, runName }: RunOrigin): boolean {
  return metadata?.langgraph_node === runName && (tags ?? []).some((tag) => /^graph:step:\d+$/.test(tag));
}

/** The name that the user gave the agent of a run; null when they gave none. */
export function agentHintOf({ tags, metadata }: RunOrigin): string | null {
  const tag = tags?.find((candidate) => candidate.startsWith('agl:agent='));
  return textOf(metadata?.agl_agent) ?? (tag === undefined ? null : textOf(tag.slice('agl:agent='.length)));
}

/** What a run is called: by its user, or else by its class. */
export function nameOf({ runName, serialized }: RunOrigin): string {
  return textOf(runName) ?? classOf(serialized);
}

/** The class of what runs. */
function classOf(serialized: unknown): string {
  const { id, name } = fieldsOf(serialized);
  return textOf(name) ?? (Array.isArray(id) ? String(id.at(-1)) : 'Runnable');
}

/** A graph without a name of its own is known by the tool or node that it works for. */
function agentNameOf({ metadata, parentRunId }: RunOrigin, name: string, within: string | null): string {
  const given = textOf(metadata?.lc_agent_name);
  if (name !== unnamedGraph) return name;
  if (parentRunId === undefined) return given ?? name;
  return within ?? textOf(metadata?.langgraph_node) ?? name;
}

function isGlue(run: ChainRun, name: string, className: string): boolean {
  if ((run.tags ?? []).includes('langsmith:hidden')) return true;
  if (isNode(run) || run.parentRunId === undefined) return false;
  const isInner = run.runType === 'prompt' || run.runType === 'parser';
  return isInner || name === className || /^(Runnable\w*$|(Channel(Write|Read)|Branch)<)/.test(name);
}
