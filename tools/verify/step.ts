/** Result of a step. */
export interface StepResult {
  /** Checks that hold. A plain step counts as one; a test run counts its tests. */
  readonly passed: number;
  /** Checks that do not hold. */
  readonly failed: number;
  /** One short remark for the progress line, such as `212 files`. */
  readonly remark?: string;
  /** Output that is shown at the end when a check failed. */
  readonly output: string;
}

/** Scope of `verify`: `short` takes about ten minutes on two cores, `all` about thirty. */
export type VerifyScope = 'short' | 'all';

/** The scope of the run and its progress output. */
export interface StepContext {
  /** `short` leaves out what is tagged `long`; `all` leaves out nothing. */
  readonly scope: VerifyScope;
  /** Shows one line now, below the name of the step. */
  readonly report: (line: string) => void;
  /** Shows what happens right now; overwritten by the next one, and absent from logs. */
  readonly flash: (text: string) => void;
}

/** One thing that `verify` checks. */
export interface Step {
  /** A short word or two; also what selects it: `pnpm verify types`. */
  readonly name: string;
  /** Short description of the check. */
  readonly description: string;
  /** Runs the check. Never throws for a finding; a throw counts as one failure. */
  readonly run: (context: StepContext) => Promise<StepResult>;
  /** Whether the step runs with `verify --all` or by its name only. @default false */
  readonly isLong?: boolean;
  /** Names of steps that must finish before, if they run. @default none */
  readonly after?: readonly string[];
  /** Whether no other step may run beside it, because it changes files that others read. @default false */
  readonly isExclusive?: boolean;
}

/** A step that returns a list of problems: an empty list means passed. */
export function resultOf(problems: readonly string[], remark: string): StepResult {
  return { passed: problems.length === 0 ? 1 : 0, failed: problems.length, remark, output: problems.join('\n') };
}
