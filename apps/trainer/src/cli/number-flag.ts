import { InvalidArgumentError, Option } from 'commander';

/** A parser for a flag with a bounded integer. */
export function wholeNumber(options: { readonly min: number; readonly max?: number }): (text: string) => number {
  const { min, max = Number.MAX_SAFE_INTEGER } = options;
  return (text) => {
    const value = Number(text);
    if (text.trim() === '' || !Number.isInteger(value) || value < min || value > max) {
      throw new InvalidArgumentError(
        `"${text}" is not a whole number of at least ${min}${max === Number.MAX_SAFE_INTEGER ? '' : ` and at most ${max}`}.`,
      );
    }
    return value;
  };
}

/** A parser for a flag with a finite number. */
export function finiteNumber(text: string): number {
  const value = Number(text);
  if (text.trim() === '' || !Number.isFinite(value)) throw new InvalidArgumentError(`"${text}" is not a number.`);
  return value;
}

/** A parser for a flag with a share, from 0 to 1. */
export function shareOf(text: string): number {
  const value = finiteNumber(text);
  if (value < 0 || value > 1) throw new InvalidArgumentError(`"${text}" is not a share from 0 to 1.`);
  return value;
}

/** The former name of `--processes`. */
export function formerWorkers(): Option {
  return new Option('--workers <n>').hideHelp().argParser(() => {
    throw new InvalidArgumentError('The flag is now --processes.');
  });
}
