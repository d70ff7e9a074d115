import type { TraceNode } from '../../src/api/rollout-views.ts';

/** An agent or a tool of an attempt. */
export interface AgentGraphNode {
  readonly id: string;
  readonly kind: 'agent' | 'tool';
  readonly name: string;
  /** Number of model calls of an agent, or of calls of a tool. */
  readonly calls: number;
  /** Response tokens of an agent's model calls. */
  readonly tokens: number;
  /** Number of its steps that failed. */
  readonly errors: number;
}

/** Relation of two nodes, with its number. */
export interface AgentGraphEdge {
  readonly from: string;
  readonly to: string;
  readonly kind: 'delegates' | 'hands over' | 'calls';
  readonly count: number;
}

/** The agents and tools of an attempt, and their relations. */
export interface AgentGraph {
  readonly nodes: readonly AgentGraphNode[];
  readonly edges: readonly AgentGraphEdge[];
}

/** Name of the agent of steps without one. */
const unnamed = 'agent';

/**
 * The agent graph of a trace. An agent delegates to the agents inside of it; it hands over to the agent whose model call
 * follows its own, when neither is inside of the other.
 */
export function agentGraph(trace: readonly TraceNode[]): AgentGraph {
  const nodes = new Map<string, AgentGraphNode>();
  const edges = new Map<string, AgentGraphEdge>();
  const steps = trace
    .filter(({ kind }) => kind === 'model-call' || kind === 'tool-call' || kind === 'agent')
    .sort((one, other) => (one.startTimeMs ?? 0) - (other.startTimeMs ?? 0) || one.sequenceId - other.sequenceId);
  let previous: readonly string[] | null = null;
  for (const step of steps) {
    const path = step.agentPath.length === 0 ? [unnamed] : step.agentPath;
    addAgents(path, { nodes, edges });
    if (step.kind === 'tool-call') {
      const tool = `${idOf(path)} tool ${step.title}`;
      count(nodes, { id: tool, kind: 'tool', name: step.title, calls: 1, tokens: 0, errors: errorOf(step) });
      link(edges, { from: idOf(path), to: tool, kind: 'calls', count: 1 });
    } else if (step.kind === 'model-call') {
      const tokens = step.tokens?.response ?? 0;
      count(nodes, { id: idOf(path), kind: 'agent', name: '', calls: 1, tokens, errors: errorOf(step) });
      if (previous !== null && !isInside(path, previous) && !isInside(previous, path)) {
        link(edges, { from: idOf(previous), to: idOf(path), kind: 'hands over', count: 1 });
      }
      previous = path;
    }
  }
  return { nodes: [...nodes.values()], edges: [...edges.values()] };
}

/** Adds the agents of a path that are not known, and that each delegates to the next. */
function addAgents(
  path: readonly string[],
  graph: { readonly nodes: Map<string, AgentGraphNode>; readonly edges: Map<string, AgentGraphEdge> },
): void {
  for (const [index, name] of path.entries()) {
    const id = idOf(path.slice(0, index + 1));
    if (graph.nodes.has(id)) continue;
    graph.nodes.set(id, { id, kind: 'agent', name, calls: 0, tokens: 0, errors: 0 });
    if (index > 0) link(graph.edges, { from: idOf(path.slice(0, index)), to: id, kind: 'delegates', count: 1 });
  }
}

function count(nodes: Map<string, AgentGraphNode>, added: AgentGraphNode): void {
  const { id } = added;
  const known = nodes.get(id);
  if (known === undefined) nodes.set(id, added);
  else {
    const calls = known.calls + added.calls;
    nodes.set(id, { ...known, calls, tokens: known.tokens + added.tokens, errors: known.errors + added.errors });
  }
}

function link(edges: Map<string, AgentGraphEdge>, edge: AgentGraphEdge): void {
  const key = JSON.stringify([edge.from, edge.to, edge.kind]);
  edges.set(key, { ...edge, count: (edges.get(key)?.count ?? 0) + edge.count });
}

function idOf(path: readonly string[]): string {
  return JSON.stringify(path);
}

/** Whether a path is another one or below it. */
function isInside(path: readonly string[], outer: readonly string[]): boolean {
  return outer.every((name, index) => path[index] === name);
}

function errorOf({ outcome }: TraceNode): number {
  return outcome === 'error' ? 1 : 0;
}
