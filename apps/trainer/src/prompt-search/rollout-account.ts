import type { CollectedRollout } from '@agentlightning/core/algorithm';
import { type TraceMessage, type TraceStep, traceSteps } from '@agentlightning/trace';

/** What of one rollout the optimiser model gets to read at most, in characters. */
const maxCharacters = 8000;

/** What an account says beside what the trace does. */
export interface AccountOutcome {
  /** Why the agent failed; null when it did not. */
  readonly failure: string | null;
}

/**
 * What happened in a rollout, in words that a model can criticise: the task, what was said to models and by them, tools,
 * what the agent recorded, and how it ended. The same trace gives the same account.
 */
export function rolloutAccount({ rollout, spans }: CollectedRollout, { failure }: AccountOutcome): string {
  const told = new Set<string>();
  const lines = [
    `Task: ${JSON.stringify(rollout.input)}`,
    ...traceSteps(spans).flatMap((step) => stepLines(step, told)),
    ...(failure === null ? [] : [`The agent failed: ${failure}`]),
  ];
  return shortened(lines.join('\n'));
}

function stepLines(step: TraceStep, told: Set<string>): readonly string[] {
  return [...ownLines(step, told), ...step.children.flatMap((child) => stepLines(child, told))];
}

/** A conversation goes on from call to call; what was said before is not told again. */
function ownLines(step: TraceStep, told: Set<string>): readonly string[] {
  const error = step.error === null ? [] : [`error: ${step.error}`];
  switch (step.kind) {
    case 'model-call': {
      const asked = step.inputMessages.map(messageText).filter((line) => !told.has(line));
      const answered = step.outputMessages.map(messageText);
      for (const line of [...asked, ...answered]) told.add(line);
      return [...asked, ...answered, ...error];
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

/** The beginning has the task, the end what came of it. */
function shortened(text: string): string {
  if (text.length <= maxCharacters) return text;
  const half = Math.floor(maxCharacters / 2);
  return `${text.slice(0, half)}\n[… ${text.length - 2 * half} characters left out …]\n${text.slice(-half)}`;
}
