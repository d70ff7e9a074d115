/* A process that does nothing until its channel closes, beside the measured one. */
process.channel?.ref();
process.once('disconnect', () => process.exit(0));
