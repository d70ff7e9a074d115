import type { AgentLightningError } from '@agentlightning/core';
import { errorCodec } from '@agentlightning/core/protocol';
import { z } from 'zod';

/** The first line for the dashboard process. */
export interface DashboardSettings {
  readonly storeUrl: string;
  readonly storeApiKey: string | null;
  /** 0 for any free port. */
  readonly port: number;
}

/** The line that reports the orderly end of the training. Without it, the trainer was killed. */
export const finishedLine = 'finished';

/** The first line of the dashboard process. */
export type DashboardReply =
  | { readonly type: 'ready'; readonly url: string }
  | { readonly type: 'failed'; readonly error: AgentLightningError };

/** Reads a {@link DashboardReply}. */
export const dashboardReply: z.ZodType<DashboardReply> = z.union([
  z.object({ type: z.literal('ready'), url: z.string() }),
  errorCodec.transform((error) => ({ type: 'failed' as const, error })),
]);
