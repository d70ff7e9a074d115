import { createHash } from 'node:crypto';
import { z } from 'zod';

/** A part, and its code. */
export const partTask = z.object({ part: z.string(), code: z.string() });

export type PartTask = z.infer<typeof partTask>;

const letters = 'ABCDEFGHIJKL';

/** Four letters without a pattern. */
function codeOf(seed: string): string {
  return [...createHash('sha256').update(seed).digest().subarray(0, 4)]
    .map((byte) => letters.charAt(byte % letters.length))
    .join('');
}

/** The parts whose codes are learned. Nothing but the feedback has them. */
export const parts: readonly PartTask[] = ['N', 'O'].map((part) => ({ part, code: codeOf(part) }));

/** The question of an agent about a part. */
export function question(part: string): string {
  return `Code of ${part}?`;
}

/** How feedback follows the question in the prompt of the teacher. */
export const feedbackTemplate = ' {feedback}';

/** A prompt with a response to imitate. */
export const demonstration = z.object({ prompt: z.string(), code: z.string() });

export type Demonstration = z.infer<typeof demonstration>;

/**
 * Demonstrations of how to read feedback, with other codes: three of four repeat the code of the feedback, the others have no feedback and
 * guess.
 */
export function demonstrations(count: number): readonly Demonstration[] {
  return Array.from({ length: count }, (_, index) => {
    const asked = question(String.fromCharCode(78 + (index % 12)));
    const code = unknownCode(`demonstration ${index}`);
    const feedback = feedbackTemplate.replace('{feedback}', `Feedback on an earlier attempt:\n${code}`);
    return { prompt: index % 4 === 0 ? asked : `${asked}${feedback}`, code };
  });
}

/** A code that belongs to none of the parts. */
function unknownCode(seed: string): string {
  const code = codeOf(seed);
  return parts.some((each) => each.code === code) ? unknownCode(`${seed}!`) : code;
}
