import { hostname } from 'node:os';
import type { JsonObject } from '@agentlightning/core';
import { packageVersion } from '../events/package-version.ts';

/** The constant part of a runner's statistics; its worker pool adds the load. */
export function runnerStatistics(runId: string | null): JsonObject {
  return { kind: 'runner', version: packageVersion(), host: hostname(), pid: process.pid, run_id: runId };
}
