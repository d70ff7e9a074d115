/**
 * A number with its noun, in English.
 *
 * @param noun - in the singular; its plural ends in "s"
 *
 * @example
 * ```ts
 * quantityText(1, 'model call'); // '1 model call'
 * quantityText(0, 'rollout'); // '0 rollouts'
 * ```
 */
export function quantityText(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}
