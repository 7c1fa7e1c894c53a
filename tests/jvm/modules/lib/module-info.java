module lib {
    exports lib;
    provides lib.Shape with lib.internal.Square, lib.internal.Circle;
}
