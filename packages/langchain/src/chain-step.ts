import type { AgentStepKind } from '@agentlightning/core/adapter';
import { fieldsOf } from '@agentlightning/core/internal';
import { textOf } from './framework-value.ts';
import type { RunOrigin } from './run-attributes.ts';

/** A run of a chain: a graph, a node of one, or a runnable. */
export interface ChainRun extends RunOrigin {
  readonly runType: string | undefined;
}

/** The context in which a run starts. */
export interface RunParent {
  /** The name of the enclosing tool; null outside a tool. */
  readonly tool: string | null;
  /** The agent name in LangChain's metadata; null without one. */
  readonly createdAs: string | null;
}

/** The trace representation of a chain run. */
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
/** The default name of a graph. */
const unnamedGraph = 'LangGraph';

/**
 * Classifies a run: a graph is an agent; a node, a task, an outermost chain and a chain with a user-defined name are steps.
 * All other runs are hidden.
 */
export function chainStepOf(run: ChainRun, within: RunParent): ChainStep {
  const className = classOf(run.serialized);
  const name = nameOf(run);
  if (isGraph(run.serialized) || agentClasses.has(className))
    return { kind: 'agent', name: agentNameOf(run, name, within), isHidden: false };
  return { kind: 'step', name, isHidden: isHiddenRun(run, name, className) };
}

/** Whether a run is a graph node or a task of a functional workflow. */
export function isNode({ tags, metadata, runName }: RunOrigin): boolean {
  return metadata?.langgraph_node === runName && (tags ?? []).some((tag) => /^graph:step:\d+$/.test(tag));
}

/** The user-defined agent names of a run and its parents, inherited through metadata and tags. */
export function agentHintsOf({ tags = [], metadata }: RunOrigin): readonly string[] {
  const named = tags.filter((tag) => tag.startsWith('agl:agent=')).map((tag) => tag.slice('agl:agent='.length));
  return [metadata?.agl_agent, ...named].map(textOf).filter((hint) => hint !== null);
}

/** The name of a run: user-defined, or else its class. */
export function nameOf({ runName, serialized }: RunOrigin): string {
  return textOf(runName) ?? classOf(serialized);
}

/** Whether a run is a graph, by the namespace of its class: minifiers rename classes. */
function isGraph(serialized: unknown): boolean {
  const { id } = fieldsOf(serialized);
  return Array.isArray(id) && id[0] === 'langgraph' && id[1] === 'pregel';
}

/** The class of a run. */
function classOf(serialized: unknown): string {
  const { id, name } = fieldsOf(serialized);
  return textOf(name) ?? (Array.isArray(id) ? String(id.at(-1)) : 'Runnable');
}

/** The agent name in the metadata of a run, which it may inherit from an enclosing agent; null without one. */
export function createdAs({ metadata }: RunOrigin): string | null {
  return textOf(metadata?.lc_agent_name);
}

/**
 * The name with which an agent was created, independent of the name of a run. An unnamed graph is named after its
 * enclosing tool or node.
 */
function agentNameOf(run: RunOrigin, name: string, within: RunParent): string {
  const own = createdAs(run);
  if (own !== null && own !== within.createdAs) return own;
  if (name !== unnamedGraph || run.parentRunId === undefined) return name;
  return within.tool ?? textOf(run.metadata?.langgraph_node) ?? name;
}

function isHiddenRun(run: ChainRun, name: string, className: string): boolean {
  if ((run.tags ?? []).includes('langsmith:hidden')) return true;
  if (isNode(run) || run.parentRunId === undefined) return false;
  const isInner = run.runType === 'prompt' || run.runType === 'parser';
  return isInner || name === className || /^(Runnable\w*$|(Channel(Write|Read)|Branch)<)/.test(name);
}
