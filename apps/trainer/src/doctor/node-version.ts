/** The lowest supported version of Node, as `engines` of the package has it: `node:sqlite` without a flag, `module.registerHooks`. */
export const lowestNode: readonly [major: number, minor: number] = [22, 16];

/** Why a version of Node cannot run `agl`, in one sentence; null for a supported one. */
export function unsupportedNode(version: string): string | null {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const [lowestMajor, lowestMinor] = lowestNode;
  if (major > lowestMajor || (major === lowestMajor && minor >= lowestMinor)) return null;
  return `agl requires Node.js ${lowestMajor}.${lowestMinor} or later, and this is ${version}. Install a newer version from https://nodejs.org.`;
}

/** The part of `process` that emits warnings. */
interface WarningEmitter {
  emitWarning: (warning: string | Error, ...options: never[]) => void;
}

/** Suppresses the warnings that `node:sqlite` and `stripTypeScriptTypes` are experimental. Other warnings are unchanged. */
export function silenceExpectedWarnings(target: WarningEmitter): void {
  const { emitWarning } = target;
  target.emitWarning = function emitUnexpected(warning, ...options) {
    const text = typeof warning === 'string' ? warning : warning.message;
    if (/^(?:SQLite|stripTypeScriptTypes) is an experimental feature/.test(text)) return;
    emitWarning.call(target, warning, ...options);
  };
}
