"""What single libraries need beyond the standard: a namespace for Cubed, weights in safetensors files."""
