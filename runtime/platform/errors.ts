// An error about how a component is configured, recognised by its name.

export class ConfigurationError extends Error {
  readonly exposeStack: boolean;
  constructor(message: string, exposeStack = false) {
    super(message);
    this.name = "ConfigurationError";
    this.exposeStack = exposeStack;
  }
}
