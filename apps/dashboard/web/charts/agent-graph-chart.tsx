import dagre from '@dagrejs/dagre';
import { type ReactNode, useId, useMemo } from 'react';
import type { AgentGraph, AgentGraphEdge, AgentGraphNode } from '../data/agent-graph.ts';

const nodeSize = { width: 190, height: 52 };

const labelSize = { width: 90, height: 16 };

/** Maximum number of characters of a name in a node. */
const maxName = 24;

/** The agents and tools of an attempt as a graph. */
export function AgentGraphChart({ graph }: { readonly graph: AgentGraph }): ReactNode {
  const arrow = useId();
  const { width, height, nodes, edges } = useMemo(() => layoutOf(graph), [graph]);
  return (
    <svg
      className="agent-graph"
      role="img"
      aria-label={graph.edges.map((edge) => edgeText(edge, graph)).join('; ') || nodeText(graph.nodes[0])}
      viewBox={`0 0 ${width} ${height}`}
      width={width}
      height={height}
    >
      <defs>
        <marker id={arrow} viewBox="0 0 8 8" refX={7} refY={4} markerWidth={7} markerHeight={7} orient="auto">
          <path d="M0 0 L8 4 L0 8 z" />
        </marker>
      </defs>
      {edges.map(({ edge, points, label }) => (
        <g key={`${edge.from} ${edge.to} ${edge.kind}`} data-kind={edge.kind} className="edge">
          <polyline points={points.map(({ x, y }) => `${x},${y}`).join(' ')} markerEnd={`url(#${arrow})`} />
          <text x={label.x - labelSize.width / 2} y={label.y}>
            {`${edge.kind} × ${edge.count}`}
          </text>
        </g>
      ))}
      {nodes.map(({ node, x, y }) => (
        <g key={node.id} data-kind={node.kind} data-failed={node.errors > 0} className="node">
          <title>{nodeText(node)}</title>
          <rect
            x={x - nodeSize.width / 2}
            y={y - nodeSize.height / 2}
            {...nodeSize}
            rx={node.kind === 'agent' ? 14 : 4}
          />
          <text x={x} y={y - 6} className="name">
            {node.name.length > maxName ? `${node.name.slice(0, maxName - 1)}…` : node.name}
          </text>
          <text x={x} y={y + 13}>
            {factsOf(node)}
          </text>
        </g>
      ))}
    </svg>
  );
}

interface Point {
  readonly x: number;
  readonly y: number;
}

function layoutOf({ nodes, edges }: AgentGraph) {
  const graph = new dagre.graphlib.Graph({ multigraph: true });
  graph.setGraph({ rankdir: 'TB', nodesep: 40, ranksep: 60, marginx: 12, marginy: 12 });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const { id } of nodes) graph.setNode(id, { ...nodeSize });
  for (const { from, to, kind } of edges) graph.setEdge(from, to, { ...labelSize, labelpos: 'r' }, kind);
  dagre.layout(graph);
  const { width = 0, height = 0 } = graph.graph();
  return {
    width,
    height,
    nodes: nodes.map((node) => {
      const { x, y }: Point = graph.node(node.id);
      return { node, x, y };
    }),
    edges: edges.map((edge) => {
      const { points, x, y }: Point & { readonly points: readonly Point[] } = graph.edge(edge.from, edge.to, edge.kind);
      return { edge, points, label: { x, y } };
    }),
  };
}

function factsOf({ kind, calls, tokens, errors }: AgentGraphNode): string {
  const failed = errors === 0 ? '' : `, ${errors} failed`;
  if (kind === 'tool') return `tool, ${calls === 1 ? '1 call' : `${calls} calls`}${failed}`;
  return `${calls === 1 ? '1 model call' : `${calls} model calls`}, ${tokens} tokens${failed}`;
}

function nodeText(node: AgentGraphNode | undefined): string {
  return node === undefined ? '' : `${node.name}: ${factsOf(node)}`;
}

function edgeText({ from, to, kind, count }: AgentGraphEdge, { nodes }: AgentGraph): string {
  const nameOf = (id: string): string => nodes.find((node) => node.id === id)?.name ?? id;
  return `${nameOf(from)} ${kind} ${nameOf(to)}, ${count === 1 ? 'once' : `${count} times`}`;
}
