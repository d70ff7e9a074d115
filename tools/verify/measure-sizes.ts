import { runCommand } from './run-command.ts';

/** Size of one entry of `.size-limit.js`. */
export interface MeasuredSize {
  readonly name: string;
  /** Bundled, minified and gzipped. */
  readonly bytes: number;
  readonly limitBytes: number;
  readonly isOk: boolean;
}

/** One entry of size-limit's JSON report. */
interface ReportedSize {
  readonly name: string;
  readonly size: number;
  readonly sizeLimit: number;
  readonly passed: boolean;
}

/**
 * Measures the entries of `.size-limit.js` on the built packages.
 *
 * @throws Error with the output of size-limit, when a package is not built
 */
export async function measureSizes(): Promise<readonly MeasuredSize[]> {
  const { output } = await runCommand(['size-limit', '--json']);
  const report = /^\[$[\s\S]*^\]$/m.exec(output)?.[0];
  if (report === undefined) throw new Error(`size-limit gave no report:\n${output}`);
  const sizes = JSON.parse(report) as readonly ReportedSize[];
  return sizes.map(({ name, size, sizeLimit, passed }) => ({
    name,
    bytes: size,
    limitBytes: sizeLimit,
    isOk: passed,
  }));
}
