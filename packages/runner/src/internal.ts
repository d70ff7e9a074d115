/**
 * What the other packages of Agent Lightning share with this one. It can change in every release: programs of users import the
 * root of the package.
 *
 * @module
 */
export { primaryPart, scoreInTime, scoreOutput, scoringError, takeJudgeUses, verdictScore } from './score-output.ts';
export { Registration } from './workers/registration.ts';
