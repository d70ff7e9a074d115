import type { CollectedRollout } from '@agentlightning/core/algorithm';
import { findScoredOutput } from '@agentlightning/core/internal';
import { type TraceMessage, type TraceStep, traceSteps } from '@agentlightning/trace';

/** Maximum length of the transcript of one rollout, in characters. */
const maxCharacters = 8000;

/** Outcome of a rollout beyond its trace. */
export interface TranscriptOutcome {
  /** Why the agent failed; null when it did not. */
  readonly failure: string | null;
}

/**
 * Text of a rollout for the optimiser model: the task, the messages to and from models, tool calls, recorded messages, and
 * the scores with their reasons, and the failure. Deterministic.
 */
export function rolloutTranscript({ rollout, spans }: CollectedRollout, { failure }: TranscriptOutcome): string {
  const seen = new Set<string>();
  const lines = [
    `Task: ${JSON.stringify(rollout.input)}`,
    ...traceSteps(spans).flatMap((step) => stepLines(step, seen)),
    ...scoreLines(spans),
    ...(failure === null ? [] : [`The agent failed: ${failure}`]),
  ];
  return shortened(lines.join('\n'));
}

/** The scores of what the agent returned, where a configured reward computes them. */
function scoreLines(spans: CollectedRollout['spans']): readonly string[] {
  const { scores = {} } = findScoredOutput(spans) ?? {};
  return Object.entries(scores).map(
    ([part, { score, reason }]) => `score of ${part}: ${score ?? 'none'}${reason === null ? '' : ` (${reason})`}`,
  );
}

function stepLines(step: TraceStep, seen: Set<string>): readonly string[] {
  return [...ownLines(step, seen), ...step.children.flatMap((child) => stepLines(child, seen))];
}

/** Successive calls repeat the conversation; messages that are already in the text are omitted. */
function ownLines(step: TraceStep, seen: Set<string>): readonly string[] {
  const error = step.error === null ? [] : [`error: ${step.error}`];
  switch (step.kind) {
    case 'model-call': {
      const inputs = step.inputMessages.map(messageText).filter((line) => !seen.has(line));
      const outputs = step.outputMessages.map(messageText);
      for (const line of [...inputs, ...outputs]) seen.add(line);
      return [...inputs, ...outputs, ...error];
    }
    case 'tool-call': {
      const result = step.toolResult === null ? '' : ` gave: ${step.toolResult}`;
      return [`tool ${step.title}(${step.toolArguments ?? ''})${result}`, ...error];
    }
    case 'message':
    case 'exception':
      return [`${step.kind}: ${step.title}`, ...error];
    default:
      return error;
  }
}

function messageText({ role, parts }: TraceMessage): string {
  return `${role}: ${parts.map(({ type, text }) => (type === 'tool-call' ? `calls ${text}` : text)).join(' ')}`;
}

/** Keeps the start, which contains the task, and the end, which contains the outcome. */
function shortened(text: string): string {
  if (text.length <= maxCharacters) return text;
  const half = Math.floor(maxCharacters / 2);
  return `${text.slice(0, half)}\n[… ${text.length - 2 * half} characters left out …]\n${text.slice(-half)}`;
}
