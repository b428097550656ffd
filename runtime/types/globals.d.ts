// What workflow code finds without an import.
declare const defineComponent: typeof import("./index").defineComponent;
