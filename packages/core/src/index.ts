export { zz } from './zz.ts';
