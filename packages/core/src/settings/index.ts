export { didYouMean } from './nearest-name.ts';
export { parseSettings, type SettingsDescription } from './parse-settings.ts';
