import { writeSync } from 'node:fs';
import { currentRollout } from '@agentlightning/core';
import { type ExitReport, exitReportFd } from './worker-messages.ts';

/** Maximum length of a reported exception, in characters. */
const maxDetailLength = 1000;

/** Reports synchronously why this process ends. The first report counts. */
export function writeExitReport(report: ExitReport): void {
  try {
    writeSync(exitReportFd, `${encodeExitReport(report)}\n`);
  } catch {
    // The supervisor has ended.
  }
}

/** The JSON of an exit report, without the end of the line. */
export function encodeExitReport(report: ExitReport): string {
  return JSON.stringify({ ...report, detail: report.detail.slice(0, maxDetailLength) });
}

/** The attempt whose code runs; null outside of rollouts. */
export function currentAttemptId(): string | null {
  return currentRollout()?.attemptId ?? null;
}
