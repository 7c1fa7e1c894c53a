module app {
    requires lib;
    uses lib.Shape;
}
