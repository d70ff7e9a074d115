/**
 * The desk: its tools, its codes, and how its agent is judged.
 *
 * @module
 */
import type { RewardPart } from '@agentlightning/core/algorithm';
import { z } from 'zod';

/** The codes under which messages are filed. Nothing in a code says what it is for. */
export const codes = ['K1', 'K2', 'K3', 'K4', 'K5'] as const;

/** The tools of the desk, in the order of the requests. */
export const toolNames = ['find_order', 'find_parcel', 'find_account'] as const;

/** A message of a customer, the tool that finds what it is about, and its code. */
export const deskTask = z.object({
  message: z.string(),
  number: z.string(),
  tool: z.enum(toolNames),
  code: z.enum(codes),
});

export type DeskTask = z.infer<typeof deskTask>;

/** What the agent did: the tool that it called first, with its argument, and its reply. */
export interface DeskOutcome {
  readonly tool: string | null;
  readonly number: string | null;
  readonly code: string;
}

/** Half of the reward for the right lookup, half for the right code. The optimiser model reads the reasons. */
export const deskReward: { readonly parts: Readonly<Record<string, RewardPart<DeskTask, DeskOutcome>>> } = {
  parts: {
    lookup: {
      weight: 0.5,
      range: [0, 1],
      score: ({ task, output }) => {
        if (output.tool !== task.tool)
          return { score: 0, reason: `expected ${task.tool}, got ${output.tool ?? 'none'}` };
        return output.number === task.number ? 1 : { score: 0, reason: `expected the number ${task.number}` };
      },
    },
    code: {
      weight: 0.5,
      range: [0, 1],
      score: ({ task, output }) =>
        output.code === task.code ? 1 : { score: 0, reason: `expected the code ${task.code}, got ${output.code}` },
    },
  },
};
