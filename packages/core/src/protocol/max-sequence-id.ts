/**
 * The largest sequence id that whoever records a span may choose. Far from where whole numbers end, so that a rollout
 * that is given it has numbers left for the spans to come.
 */
export const maxSequenceId: number = 2 ** 48;
