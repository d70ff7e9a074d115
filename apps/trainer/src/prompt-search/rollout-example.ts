import type { ExampleRollout } from '@agentlightning/core';
import type { CollectedRollout } from '@agentlightning/core/algorithm';
import { errorMessage } from '@agentlightning/core/internal';
import { traceSteps, walkSteps } from '@agentlightning/trace';
import type { PromptSearchKinds } from '../config/resolve-prompts.ts';

/** Maximum length of an example, in characters. */
const maxCharacters = 8000;

/** What the functions of the configuration read of a rollout. */
export function exampleRollout({ rollout, spans }: CollectedRollout, reward: number): ExampleRollout {
  const messages = walkSteps(traceSteps(spans))
    .flatMap(({ step }) => (step.kind === 'model-call' ? [step] : []))
    .toSorted((one, other) => one.sequenceId - other.sequenceId)
    .flatMap(({ outputMessages: [message] }) => message ?? []);
  const texts = messages.map(({ parts }) => parts.flatMap(({ type, text }) => (type === 'text' ? [text] : [])));
  const calls = messages.flatMap(({ parts }) =>
    // The text of a tool call is `name(arguments)`.
    parts.flatMap(({ toolCall, text }) =>
      toolCall === undefined ? [] : [{ name: toolCall.name, arguments: text.slice(toolCall.name.length + 1, -1) }],
    ),
  );
  const response = texts.map((each) => each.join('\n').trim()).findLast((text) => text !== '') ?? '';
  return { task: rollout.input, reward, response, toolCalls: calls };
}

/**
 * Text of a rollout as an example, by prompt of kind `examples`. A rollout for which a function throws or has no usable text is
 * not an example of this prompt.
 *
 * @param options.warn - is called with the reason
 */
export function exampleTexts(
  collected: CollectedRollout,
  reward: number,
  { exampleOf, warn }: { readonly exampleOf: PromptSearchKinds['exampleOf']; readonly warn: (message: string) => void },
): Readonly<Record<string, string>> {
  const rollout = exampleRollout(collected, reward);
  const texts = Object.entries(exampleOf).flatMap(([name, example]) => {
    const skip = (reason: string): [] => {
      warn(`rollouts are not used as examples of the prompt "${name}": its function \`example\` ${reason}`);
      return [];
    };
    try {
      const text: unknown = example(rollout);
      if (typeof text !== 'string') return skip(`returned ${typeof text} instead of a text`);
      if (text.length > maxCharacters) return skip(`returned more than ${maxCharacters} characters`);
      return [[name, text] as const];
    } catch (error) {
      return skip(`failed: ${errorMessage(error)}`);
    }
  });
  return Object.fromEntries(texts);
}
