import { quantityText } from '@agentlightning/core/internal';
import { readSecret } from '@agentlightning/core/settings';
import { diagnoseProject } from '../../doctor/diagnose-project.ts';
import type { Finding } from '../../doctor/finding.ts';
import { textTable } from '../../report/text-formats.ts';
import { writeOutcome } from '../error-text.ts';
import { endpointOf } from '../evaluation/subject-options.ts';
import { exitCodes } from '../exit-code.ts';
import { redirectStdout } from '../process/redirect-stdout.ts';
import { withProgramName } from '../program-name.ts';

/** The flags of `agl doctor`. */
export interface DoctorFlags {
  readonly endpoint?: string;
  readonly model?: string;
  readonly keyEnv?: string;
  readonly json?: boolean;
}

/**
 * Checks a project and prints what was found.
 *
 * @returns the exit code
 * @throws AgentLightningError CONFIG for an incomplete or invalid endpoint
 */
export async function runDoctor(configFile: string, flags: DoctorFlags): Promise<number> {
  const endpoint = endpointOf(flags);
  // The configuration is user code, which may print.
  const stdout = redirectStdout();
  let findings: readonly Finding[];
  try {
    findings = await diagnoseProject({
      environment: process.env,
      folder: process.cwd(),
      configFile,
      endpoint:
        endpoint === null
          ? null
          : { ...endpoint, apiKey: readSecret(endpoint.apiKey ?? '', process.env), needsTokenIds: true },
      storeKey: process.env['AGL_STORE_KEY'] ?? null,
    });
  } finally {
    stdout.release();
  }
  const errors = findings.filter(({ status }) => status === 'error').length;
  const warnings = findings.filter(({ status }) => status === 'warning').length;
  writeOutcome(flags, {
    record: { findings, errors, warnings },
    text: textOf(findings, `${quantityText(errors, 'error')}, ${quantityText(warnings, 'warning')}`),
  });
  return errors === 0 ? exitCodes.done : exitCodes.failed;
}

const marks: Readonly<Record<Finding['status'], string>> = { ok: '✔', warning: '!', error: '✘', skipped: '-' };

function textOf(findings: readonly Finding[], summary: string): string {
  const rows = findings.flatMap(({ name, status, detail, remedy }) => [
    [marks[status], name, detail],
    ...(remedy === null ? [] : [['', '', `→ ${withProgramName(remedy)}`]]),
  ]);
  return [...textTable(['', 'check', 'finding'], rows), '', summary].join('\n');
}
