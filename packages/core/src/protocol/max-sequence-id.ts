/**
 * Maximum explicit sequence id of a span. Far below the largest safe integer, which leaves ids for later spans of the
 * rollout.
 */
export const maxSequenceId: number = 2 ** 48;
