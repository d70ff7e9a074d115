import type { LoraConfig } from '@agentlightning/core/training-runtime';
import { z } from 'zod';

/** A checkpoint of a run that another one learns from, with what determines the shape of its model. */
export interface TeacherCheckpoint {
  readonly runId: string;
  readonly step: number;
  readonly uri: string;
  /** Null when the runtime decides. */
  readonly baseModel: string | null;
  /** Null when all weights were trained. */
  readonly lora: LoraConfig | null;
  readonly hasValueHead: boolean;
}

/** The schema of a {@link TeacherCheckpoint}. */
export const teacherCheckpointSchema: z.ZodType<TeacherCheckpoint> = z.object({
  runId: z.string(),
  step: z.int(),
  uri: z.string(),
  baseModel: z.string().nullable(),
  lora: z
    .object({
      rank: z.int(),
      alpha: z.number().exactOptional(),
      targetModules: z.array(z.string()).exactOptional(),
    })
    .nullable(),
  hasValueHead: z.boolean(),
});
