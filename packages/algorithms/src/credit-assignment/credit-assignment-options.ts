import type { CreditAssignment } from '@agentlightning/core';
import { z } from 'zod';
import { type ByAgentCreditOptions, byAgentCredit } from './by-agent-credit.ts';
import { lastTurnCredit } from './last-turn-credit.ts';
import { type PerTurnCreditOptions, perTurnCredit } from './per-turn-credit.ts';
import { terminalCredit } from './terminal-credit.ts';

/** A credit assignment by name, with its options, as in a configuration file. */
export type CreditAssignmentOptions =
  | { readonly type: 'terminal' }
  | { readonly type: 'last-turn' }
  | ({ readonly type: 'by-agent' } & ByAgentCreditOptions)
  | ({ readonly type: 'per-turn' } & PerTurnCreditOptions);

/** The shape of {@link CreditAssignmentOptions}. */
export const creditAssignmentOptionsSchema: z.ZodType<CreditAssignmentOptions> = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('terminal') }),
  z.strictObject({ type: z.literal('last-turn') }),
  z.strictObject({ type: z.literal('by-agent'), team: z.number().min(0).exactOptional() }),
  z.strictObject({ type: z.literal('per-turn'), discount: z.number().min(0).max(1).exactOptional() }),
]);

/** Creates the credit assignment with these options. */
export function creditAssignment(options: CreditAssignmentOptions): CreditAssignment {
  switch (options.type) {
    case 'terminal':
      return terminalCredit();
    case 'last-turn':
      return lastTurnCredit();
    case 'by-agent':
      return byAgentCredit(options);
    case 'per-turn':
      return perTurnCredit(options);
  }
}
