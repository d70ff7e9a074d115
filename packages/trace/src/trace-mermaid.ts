import { shortened, stepFacts } from './step-facts.ts';
import type { TraceStep } from './trace-step.ts';
import { walkSteps } from './walk-steps.ts';

/**
 * Draws a trace as a Mermaid flowchart, for pages and pull requests that render it.
 *
 * @example
 * ```ts
 * await writeFile('trace.mmd', traceMermaid(traceSteps(spans)));
 * ```
 */
export function traceMermaid(steps: readonly TraceStep[]): string {
  const nodes: string[] = [];
  const edges: string[] = [];
  for (const [index, { step, parent }] of walkSteps(steps).entries()) {
    const [open, close] = shapes[step.kind] ?? ['[', ']'];
    nodes.push(`  s${index}${open}"${label(step)}"${close}:::${step.outcome === 'error' ? 'error' : step.kind}`);
    if (parent !== null) edges.push(`  s${parent} --> s${index}`);
  }
  return ['flowchart TD', ...nodes, ...edges, ...classes].join('\n');
}

/** Brackets around a node's text, which give it its shape. */
const shapes: Readonly<Partial<Record<TraceStep['kind'], readonly [string, string]>>> = {
  rollout: ['([', '])'],
  agent: ['([', '])'],
  'tool-call': ['[[', ']]'],
  'hand-off': ['>', ']'],
  guardrail: ['{{', '}}'],
  reward: ['((', '))'],
};

const classes: readonly string[] = [
  '  classDef agent fill:#eef,stroke:#557',
  '  classDef model-call fill:#e6f7fa,stroke:#1683a3',
  '  classDef tool-call fill:#fdf4dc,stroke:#a67c00',
  '  classDef reward fill:#e4f6e7,stroke:#2b8a3e',
  '  classDef error fill:#fde8e8,stroke:#c92a2a',
];

function label(step: TraceStep): string {
  const facts = stepFacts(step)
    .filter(({ kind }) => kind !== 'duration')
    .slice(0, 2)
    .map(({ text }) => shortened(text, 48));
  // A node must have a text.
  const title = shortened(step.title, 48) || step.kind;
  return [title, ...facts].map(escaped).join('<br/>');
}

/** Escapes special characters as Mermaid's entities (`#34;`); it has no backslash escapes. */
function escaped(text: string): string {
  return text.replace(/[^\p{L}\p{N} .,:()_/+*=→“”…-]/gu, (character) => `#${character.codePointAt(0)};`);
}
