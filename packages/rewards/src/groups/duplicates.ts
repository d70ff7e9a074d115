import { type GroupPart, type OutputOptions, partSettings, selectOutput, textOf } from '../base/part.ts';
import { comparable } from '../verifiers/exact.ts';

/**
 * The share of the other rollouts of the group with the same output. It is a penalty: its weight is -0.1 unless another is given.
 *
 * @example
 * ```ts
 * rewards({ correct: exact((task: { answer: string }) => task.answer), duplicates: duplicates() });
 * ```
 */
export function duplicates<TTask, TOutput = unknown>(options: OutputOptions<TOutput> = {}): GroupPart<TTask, TOutput> {
  return {
    ...partSettings({ weight: -0.1, ...options }),
    scoreGroup: async (siblings) => {
      const texts = siblings.map(({ output }) => comparable(textOf(selectOutput(output, options.output)), {}));
      return texts.map((text) => {
        const same = texts.filter((other) => other === text).length - 1;
        return { score: same / Math.max(1, texts.length - 1), reason: `${same} siblings have the same output` };
      });
    },
  };
}
