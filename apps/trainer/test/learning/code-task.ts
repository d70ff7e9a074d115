import type { TrainingDatum } from '@agentlightning/core/training-runtime';
import { encodeText, type ModelEngine, renderPrompt } from '@agentlightning/runtime-cpu/internal';
import type { TinyAgent } from './tiny-learner.ts';

/** A part, and the code that only its label shows. */
export interface CodeTask {
  readonly part: string;
  readonly code: string;
}

const letters = 'ABCDEFGHIJKL';
export const codeLength = 4;

/** The same parts in every step. */
export function codeTasks(count: number): readonly CodeTask[] {
  return Array.from({ length: count }, (_, index) => ({
    part: String.fromCharCode(78 + index),
    code: codeOf(index + 1),
  }));
}

/** Codes that nothing but the feedback of a kind has. */
export interface CodeKind {
  readonly question: (part: string) => string;
  /** What the feedback on an attempt says. */
  readonly feedback: (code: string) => string;
  /** Says the code: 1 for all letters, 0 for anything less. */
  readonly agent: TinyAgent<CodeTask>;
}

/** The feedback is a message of the application. */
export const toldCodes: CodeKind = {
  question: (part) => `Code of ${part}?`,
  feedback: (code) => code,
  agent: async (task, episode) => {
    const { text } = await episode.ask(messagesOf(toldCodes, task), [], codeLength);
    episode.tell(task.code);
    return text === task.code ? 1 : 0;
  },
};

/** The feedback is the error of a tool that a wrong code has called; a right one has no feedback. */
export const shelfCodes: CodeKind = {
  question: (part) => `Open shelf ${part}!`,
  feedback: (code) => `shelf: not ${code}`,
  agent: async (task, episode) => {
    const { text } = await episode.ask(messagesOf(shelfCodes, task), [], codeLength);
    const isRight = text === task.code;
    episode.tool(isRight, { name: 'shelf', result: isRight ? 'open' : `not ${task.code}` });
    return isRight ? 1 : 0;
  },
};

function messagesOf(
  { question }: CodeKind,
  { part }: CodeTask,
): readonly { readonly role: 'user'; readonly content: string }[] {
  return [{ role: 'user', content: question(part) }];
}

/** Letters without a pattern (murmur3's finaliser), so that one does not give away the next. */
function codeOf(seed: number): string {
  return Array.from({ length: codeLength }, (_, place) =>
    letters.charAt(mixed(seed * codeLength + place) % letters.length),
  ).join('');
}

function mixed(value: number): number {
  let bits = Math.imul(value ^ 0x9e3779b9, 0x85ebca6b);
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35);
  return (bits ^ (bits >>> 16)) >>> 0;
}

/** How feedback enters the prompt of the teacher. */
export const hintTemplate = ' {feedback}';

/** Teaches a model to repeat a code in feedback that follows the question, and to guess without one. */
export async function learnToFollow(
  engine: ModelEngine,
  { kind, steps, seed }: { readonly kind: CodeKind; readonly steps: number; readonly seed: number },
): Promise<void> {
  for (let step = 1; step <= steps; step += 1) {
    const data = Array.from({ length: 64 }, (_, index) => {
      const draw = Math.imul(seed * 7919 + step * 64 + index + 1, 0x85ebca6b) >>> 0;
      const part = String.fromCharCode(78 + (draw % 12));
      const code = codeOf(1000 + (draw >>> 3));
      const hint =
        index % 4 === 0
          ? ''
          : hintTemplate.replace('{feedback}', `Feedback on an earlier attempt:\n${kind.feedback(code)}`);
      // After wrong letters as well, as a policy says them.
      const wrong = index % 2 === 0 ? (draw >>> 8) % codeLength : 0;
      return datumOf(`${kind.question(part)}${hint}`, { code, prefix: codeOf(draw >>> 5).slice(0, wrong) });
    });
    await engine.forwardBackward(data, { name: 'cross_entropy', parameters: {} });
    await engine.optimStep({ learningRate: 3e-3, beta2: 0.99 });
  }
  await engine.publishWeights();
}

/** Teaches a model the codes of tasks: a teacher that needs no feedback. */
export async function learnCodes(
  engine: ModelEngine,
  { kind, tasks, steps }: { readonly kind: CodeKind; readonly tasks: readonly CodeTask[]; readonly steps: number },
): Promise<void> {
  const data = tasks.map(({ part, code }) => datumOf(kind.question(part), { code, prefix: '' }));
  for (let step = 1; step <= steps; step += 1) {
    await engine.forwardBackward(data, { name: 'cross_entropy', parameters: {} });
    await engine.optimStep({ learningRate: 3e-3, beta2: 0.99 });
  }
  await engine.publishWeights();
}

/** A response that begins with a prefix, of which the rest is learnt. */
function datumOf(content: string, { code, prefix }: { readonly code: string; readonly prefix: string }): TrainingDatum {
  const prompt = renderPrompt([{ role: 'user', content }], []);
  const tokens = [...prompt, ...encodeText(prefix), ...encodeText(code.slice(prefix.length))];
  const start = prompt.length + prefix.length;
  const entries = (value: number): Float32Array => new Float32Array(tokens.length - start).fill(value);
  return {
    tokenIds: Int32Array.from(tokens),
    trained: [{ start, end: tokens.length }],
    samplingLogprobs: entries(0),
    advantages: entries(1),
    weights: entries(1 / (64 * codeLength)),
    temperature: 1,
    rolloutId: 'ro-1',
    groupId: 'gr-1',
    minPolicyVersion: 0,
    maxPolicyVersion: 0,
  };
}
